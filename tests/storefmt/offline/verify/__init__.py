"""Tests of verification and seals."""
