"""Tests of the parts of a broker that belong to a group with a controller."""
