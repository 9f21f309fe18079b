"""Change servers and report what really happened: plan, ask, keep the old state, write, read back.

``write.py`` has these steps, which are the same for every command that changes a server.
``targets/`` has what can be changed: each target can be read, written, kept and put back. The
other modules turn the arguments of a command into such a plan. Start with ``write.py``.
"""
