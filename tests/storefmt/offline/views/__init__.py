"""Tests of the read-only views of a store."""
