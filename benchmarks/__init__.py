"""Benchmarks: this broker beside the real one, in one run, as ratios.

Settings of a load come in; rates, CPU time and memory of both brokers go out. Start with
``run`` and docs/benchmarks.md.
"""
