"""Tests of the binary formats."""
