"""The command-line toolkit: one-shot commands and the interactive shell.

Words of a command come in; text, JSON or YAML and an exit code go out. Start with
``__main__`` and then ``commands/``, which has a module for each command.
"""

VERSION = "1.0.0"
COMPLETE_VARIABLE = "_MQADMIN_COMPLETE"
"""What a shell sets to have Tab answered, see ``completion.tab``."""
