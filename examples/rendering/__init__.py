"""An async actor with a gate and a checkpoint. Start the workers in one terminal, and the program in another:

CALLBOARD_ACTORS=actors,examples.rendering.actors make up
.venv/bin/python -m examples.rendering
"""
