"""What lasts from one command to the next: servers, store, settings, streams, the journal.

A ``Call`` (``call.py``) is what one run of a command is given: whom to ask, what the global
options say, where rows and warnings go. ``link.py`` connects to the servers on first use,
``contexts.py`` keeps named addresses and keys in a file of the user, and ``journal.py`` keeps
what a destructive write replaced. Start with ``call.py``.
"""
