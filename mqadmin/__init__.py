"""The command-line toolkit: one-shot commands and the interactive shell.

The words of a command come in; text, JSON or YAML and an exit code go out. Start with
``program.py``, then ``cli/``, which finds and runs a command, and ``commands/``.
"""

VERSION = "1.0.0"
COMPLETE_VARIABLE = "_MQADMIN_COMPLETE"
"""What a shell sets to have Tab answered, see ``completion.tab``."""
