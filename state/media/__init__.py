"""Data of media actors: contents, generations, prompts."""
