"""One file for each noun of the API, with its models, its handlers and the list of its operations."""
