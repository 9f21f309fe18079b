"""The command line: click's commands, options and types, as RocketMQ's users type them.

    tree.py        the commands by name, and what each does; imports none of them
    declare.py     how a command is declared, with click's options and arguments
    decorators.py  options and arguments that many commands have
    types.py       what a value may be, and how Tab completes it; and ``times.py``, ``positions.py``
    options.py     an option in its five spellings, and click's parser taught to read them
    globals.py     the options that every command takes
    command.py     a command; ``parse.py`` finds it in a line, through groups that load it then
    run.py         runs a parsed line and prints its rows; ``watch.py`` does so again and again
    help.py        the text of ``--help``; ``man_page.py`` lays it out for man
    mistakes.py    what is said about a wrong line
    java/          the names of RocketMQ's own tool

Words come in and an exit code goes out. Start with ``tree.py`` and ``declare.py``.
"""
