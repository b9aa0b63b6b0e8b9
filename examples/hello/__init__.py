"""A first actor. Start the workers in one terminal, and the program in another:

CALLBOARD_ACTORS=actors,examples.hello.actors make up
.venv/bin/python -m examples.hello Ada
"""
