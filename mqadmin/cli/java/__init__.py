"""The names and flags of RocketMQ's own tool, as commands that fill the native ones.

``table.py`` has every name with its flags, checked against the tool itself by a test;
``names.py`` says what an entry is, and ``command.py`` makes a click command of one. A name is an
alias: no command is written twice.
"""
