"""Where the program ``mqadmin`` begins, also as ``python -m mqadmin``.

    signal     while modules load     while a line runs     after it
    Ctrl-C     exit 130 at once       KeyboardInterrupt     exit 130 at once
    SIGTERM    ends the process       SystemExit(143)       ends the process

Rule: a line that is told to end puts things in order first: the terminal, servers that it started,
the brackets of its JSON. Signals that the caller ignores (``nohup``, ``&``) stay ignored.
"""

# What ``signal`` wraps: to load that takes a while, and Ctrl-C in it has no handler yet.
import _signal as signal  # type: ignore[import-not-found]
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

SIGNALLED_EXIT = 128
"""What a shell adds to the number of a signal."""
IMPORTING = "<frozen importlib"
"""How the code that loads modules names its files."""


def main() -> int:
    """Run the words of the command line and return the exit code."""
    # What is loaded stays: looking for garbage among it is a tenth of a one-shot command. This
    # holds before the first import of ours.
    gc.set_threshold(20_000)
    takes_interrupts = signal.getsignal(signal.SIGINT) == signal.default_int_handler
    takes_ends = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if takes_interrupts:
        signal.signal(signal.SIGINT, _leave)
    # Most of a short command is its imports: they have to find the handler there.
    from mqadmin.program import main as run

    try:
        if takes_ends:
            signal.signal(signal.SIGTERM, _unwind)
        if takes_interrupts:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return run()
    except KeyboardInterrupt:
        return SIGNALLED_EXIT + int(signal.SIGINT)
    finally:
        if takes_interrupts:
            signal.signal(signal.SIGINT, _leave)
        if takes_ends:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _leave(number: int, _: object) -> None:
    """End the process where there is nothing to put in order."""
    os._exit(SIGNALLED_EXIT + number)


def _unwind(number: int, frame: "FrameType | None") -> None:
    """Have the line end as if it were done; the next signal does not wait for that."""
    if frame is not None and frame.f_code.co_filename.startswith(IMPORTING):
        # Called back from there, an exception is printed and forgotten.
        _leave(number, frame)
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(SIGNALLED_EXIT + number)


if __name__ == "__main__":
    sys.exit(main())
