"""Run many lines: from a file, from ``-c`` or from standard input.

Rule: one command a line, or several with ``;`` between them; ``#`` starts a comment, a backslash
at the end joins lines. The first command that fails ends the script with its exit code, unless
``keep_going``; then the exit code is that of the last one that failed.
"""

from collections.abc import Iterable

from mqadmin.shell.engine import Leave, Shell
from mqadmin.shell.lines import Quote, split


def run_script(shell: Shell, lines: Iterable[str], *, keep_going: bool = False) -> int:
    """Run the lines and return the exit code of the script."""
    failed = 0
    text = ""
    try:
        for piece in lines:
            text += piece
            if split(text.removesuffix("\n")).inside is Quote.BACKSLASH:
                continue
            exit_code = shell.run(text, keep_going=keep_going)
            text = ""
            if exit_code:
                failed = exit_code
                if not keep_going:
                    return failed
        if text:
            failed = shell.run(text, keep_going=keep_going) or failed
    except Leave as leave:
        return leave.exit_code
    return failed
