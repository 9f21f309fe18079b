"""The program ``mqadmin``: one command of the line, and out.

Rule: what is imported here is paid by every call; see the test of the import graph.
"""

import os
import sys
from collections.abc import Sequence

from mqadmin.call import Workplace
from mqadmin.console import Console
from mqadmin.errors import Interrupted
from mqadmin.runner import run_line

BROKEN_PIPE_EXIT = 141
"""What a shell reports for a program that SIGPIPE ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code, as in the table of ``mqadmin.errors``."""
    workplace = Workplace()
    try:
        console = Console.of_process()
        exit_code = run_line(_words() if argv is None else argv, console, workplace)
        console.out.flush()
    except BrokenPipeError:
        # The reader has gone; a second attempt to flush at exit would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        exit_code = BROKEN_PIPE_EXIT
    except KeyboardInterrupt:
        exit_code = Interrupted.exit_code
    finally:
        workplace.link.close()
    return exit_code


def _words() -> list[str]:
    """Return the words of the command line, read as UTF-8 whatever the locale.

    Bytes that are no UTF-8 come through as surrogates: a body may hold any.
    """
    return [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]
