"""The commands: a folder for each noun with several modules, otherwise one module for the noun.

    topic/list.py      ``topic list``
    topic/settings.py  ``topic create``, ``update``, ``perm`` and ``import``, which share their rows
    acl.py             every command that begins with ``acl``

A command gets a ``Call``, asks servers or reads a store, and returns typed rows; it never prints,
and commands do not import each other. ``mqadmin.cli.tree`` says which module has which command,
and ``mqadmin.cli.declare`` how one is declared. Start with ``topic/list.py``, the shortest.
"""
