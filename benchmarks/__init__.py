"""Benchmarks: this broker beside the real one, in one run, as ratios.

Settings of a load come in; rates, CPU time and memory of both brokers go out. Start with
``run`` and docs/benchmarks.md.
"""

from importlib.util import find_spec

if find_spec("pytest") is None:
    raise SystemExit("the benchmarks use parts of the tests; `make check` installs what they need")
