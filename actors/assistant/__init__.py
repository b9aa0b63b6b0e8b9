"""The parts of the agent `assistant` (`actors/agents/assistant.py`): its tools, its turns, the files that it keeps."""
