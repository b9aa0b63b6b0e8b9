"""Tests of what happens to every request before its operation sees it."""
