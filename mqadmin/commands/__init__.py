"""The commands: each stands where its name says.

    topic/list.py       ``topic list``
    topic/_shared.py    what several verbs of ``topic`` need
    broker/config.py    ``broker config get`` and ``broker config set``
    acl.py              every command that begins with ``acl``, a noun without a folder

A command gets a ``Call``, asks servers or reads a store, and returns typed rows; it never prints,
and commands do not import each other. ``mqadmin.cli.declare`` says how one is declared. Start with
``topic/list.py``, the shortest.
"""
