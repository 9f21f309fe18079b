"""The interactive shell and its scripts.

    lines.py        a line -> stages, pipe filters, redirection
    engine.py       runs a line: a word of the shell (set, use, connect...) or a command
    filters.py      | grep | head | json ...
    names.py        live topics, groups, brokers, fetched in the background
    complete.py     the possible next words at the cursor; pure
    interactive.py  the terminal; the only module that imports prompt_toolkit

Rule: a line means the same in the shell, in a script and as a one-shot command.
"""
