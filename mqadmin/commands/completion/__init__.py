"""Completion in the user's own shell."""
