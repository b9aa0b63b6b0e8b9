"""Callboard and its peers as contenders: an app each, and the command that starts its workers."""
