"""Bare servers that stand for what the machine can do, and the clients that load them and Callboard alike.

All of them run in the venv of the peers: a client that shares nothing with Callboard costs both sides the same.
"""
