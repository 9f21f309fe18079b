"""Tests of the JSON files of ``config/``."""
