"""What lasts from one command to the next: servers, store, settings, streams, the journal.

A ``Call`` (``call.py``) is the context of one run of a command: the servers, the global
options, and the streams for rows and warnings. ``link.py`` connects to the servers on first use,
``contexts.py`` keeps named addresses and keys in a file of the user, and ``journal.py`` keeps
what a destructive write replaced. Start with ``call.py``.
"""
