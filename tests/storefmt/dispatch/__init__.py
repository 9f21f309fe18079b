"""Tests of what a broker derives from the commit log."""
