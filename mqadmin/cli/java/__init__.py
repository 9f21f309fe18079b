"""The names and flags of RocketMQ's own tool, as commands that fill the native ones.

``table.py`` has every name with its flags, checked against the tool itself by a test;
``names.py`` declares an entry, and ``command.py`` turns one into a click command. A name is an
alias, so that each command is written once.
"""
