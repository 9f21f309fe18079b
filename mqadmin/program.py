"""The program ``mqadmin``: run the command of a line and exit.

Rule: what is imported here is paid by every call; see the test of the import graph. A line that
is answered by a text alone needs neither servers nor a printer.
"""

import os
import sys
from collections.abc import Sequence

from mqadmin import COMPLETE_VARIABLE
from mqadmin.session.console import Console

TEXTS = frozenset({"-h", "--help", "help", "--version"})
"""Words that may make a line be answered by a text; every other line runs a command."""
INTERRUPTED_EXIT = 130
BROKEN_PIPE_EXIT = 141
"""What a shell reports for a program that SIGPIPE ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code, as in the table of ``mqadmin.errors``."""
    try:
        console = Console.of_process()
        words = _words() if argv is None else list(argv)
        if argv is None and COMPLETE_VARIABLE in os.environ:
            # Only the scripts of `completion` ask for it.
            from mqadmin.completion.tab import answer

            exit_code = answer(os.environ[COMPLETE_VARIABLE], console)
        elif words in (["--version"], ["version"]):
            # Only this needs it, and it checks many files.
            from mqadmin.installation import version_text

            console.out.write(version_text())
            exit_code = 0
        else:
            answered = _answer(words, console) if TEXTS & {*words} else None
            exit_code = _run_words(words, console) if answered is None else answered
        console.out.flush()
    except BrokenPipeError:
        # The reader has gone; a second attempt to flush at exit would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        exit_code = BROKEN_PIPE_EXIT
    except KeyboardInterrupt:
        exit_code = INTERRUPTED_EXIT
    except RuntimeError as error:
        # Python 3.11 wraps what is raised while a class is made.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        exit_code = INTERRUPTED_EXIT
    return exit_code


def _answer(words: list[str], console: Console) -> int | None:
    """Print the text that a line asks for; None where it is to run, or is wrong."""
    # The version needs no command.
    from mqadmin.cli.command import TextAnswer
    from mqadmin.cli.parse import parse
    from mqadmin.errors import Usage

    try:
        answer = parse(words)
    except Usage:
        return None
    if not isinstance(answer, TextAnswer):
        return None
    console.print_text(answer.text, is_error=bool(answer.exit_code))
    return answer.exit_code


def _run_words(words: list[str], console: Console) -> int:
    """Run the command of a line."""
    # A text needs no servers.
    from mqadmin.cli.run import run_line
    from mqadmin.session.call import Workplace

    workplace = Workplace()
    try:
        return run_line(words, console, workplace)
    finally:
        workplace.link.close()


def _words() -> list[str]:
    """Return the words of the command line, read as UTF-8 whatever the locale.

    Bytes that are not UTF-8 become surrogates, because a body may contain any bytes.
    """
    return [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]
