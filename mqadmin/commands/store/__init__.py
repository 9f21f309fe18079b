"""Commands that read a store directory without a broker, and write repaired copies of it.

The directory is opened read-only and its lock is not taken. The work is done by
``storefmt.offline``; the modules here turn its results into rows. Start with ``verify.py``.
"""
