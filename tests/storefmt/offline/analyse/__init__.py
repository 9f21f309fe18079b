"""Tests of the analyses of a store."""
