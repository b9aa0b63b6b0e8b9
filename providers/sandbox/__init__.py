"""Programs in a box. Nothing is imported here: the keeper, which starts with every box, must be light."""
