"""Tests of the Arrow columns."""
