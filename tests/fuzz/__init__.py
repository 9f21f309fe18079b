"""Fuzzing: every decoder of ``storefmt`` and ``remoting`` takes any bytes."""
