"""The command line: click's commands, options and types, as RocketMQ's users type them.

    tree.py        the commands by name, and what each does; imports none of them
    declare.py     how a command is declared, with click's options and arguments
    decorators.py  options and arguments that many commands have
    types.py       the types of values, with their completion; also ``times.py``, ``positions.py``
    options.py     an option in its five spellings, and click's parser taught to read them
    globals.py     the options that every command takes
    command.py     a command; ``parse.py`` finds it in a line, and groups load its module only then
    run.py         runs a parsed line and prints its rows; ``watch.py`` repeats that
    help.py        the text of ``--help``; ``man_page.py`` lays it out for man
    mistakes.py    the errors and suggestions for a wrong line
    java/          the names of RocketMQ's own tool

Words come in and an exit code goes out. Start with ``tree.py`` and ``declare.py``.
"""
