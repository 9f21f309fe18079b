"""Where the program ``mqadmin`` begins, also as ``python -m mqadmin``.

    signal     while modules load     while a line runs     after it
    Ctrl-C     exit 130 at once       KeyboardInterrupt     exit 130 at once
    SIGTERM    ends the process       SystemExit(143)       ends the process

Rule: a command that is ended by a signal cleans up first: the terminal, servers that it started,
the brackets of its JSON. Signals that the caller ignores (``nohup``, ``&``) stay ignored.
"""

# ``signal`` wraps this module; while it loads, Ctrl-C would have no handler.
import _signal as signal  # type: ignore[import-not-found]
import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

SIGNALLED_EXIT = 128
"""What a shell adds to the number of a signal."""
OF_CLI = ("click", "prompt_toolkit", "yaml", "msgpack", "rich", "wcwidth")
"""What the command line needs and `pip install mqclient` alone leaves out."""
IMPORTING = "<frozen importlib"
"""How the code that loads modules names its files."""


def main() -> int:
    """Run the words of the command line and return the exit code."""
    # Modules stay loaded, and searching them for garbage takes a tenth of the time of a one-shot
    # command. The threshold has to be set before our first import.
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
    except ModuleNotFoundError as error:
        if error.name not in OF_CLI:
            raise
        sys.stderr.write(f"error: {error.name} is not installed; pip install mqadmin\n")
        return 1
    finally:
        if takes_interrupts:
            signal.signal(signal.SIGINT, _leave)
        if takes_ends:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _leave(number: int, _: object) -> None:
    """End the process at once if there is nothing to clean up."""
    os._exit(SIGNALLED_EXIT + number)


def _unwind(number: int, frame: "FrameType | None") -> None:
    """End the command cleanly; the next signal ends the process at once."""
    if frame is not None and frame.f_code.co_filename.startswith(IMPORTING):
        # The import system prints an exception of a callback and continues.
        _leave(number, frame)
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(SIGNALLED_EXIT + number)


if __name__ == "__main__":
    sys.exit(main())
