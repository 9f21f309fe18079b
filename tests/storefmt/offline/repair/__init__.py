"""Tests of repair, rebuild and carving."""
