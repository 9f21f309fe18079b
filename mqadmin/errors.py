"""Every way a command can end badly, with its exit code and its one line of text.

    CommandError              code            exit
    |- Usage                  usage           2      the words on the line are wrong
    |- ItemNotFound           not_found       3      topic, group, message, file
    |- ServerUnreachable      unreachable     4      cannot connect, or timed out
    |- ServerRefused          refused         1      the server said no
    |- CheckFailed            check_failed    1      an assertion did not hold
    |- Incomplete             incomplete      5      a server that did not answer may know it
    |- Damaged                damaged         6      damage found in a store
    `- Interrupted            interrupted     130    Ctrl-C

Rule: a command raises one of these or lets an error of a lower package through;
``describe`` turns both into a ``Failure``, and nothing else prints an error.
"""

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from storefmt.errors import BadCall, ConfigDamaged, NotAStore, NotInStore, RecordDamaged, StoreError


class CommandError(Exception):
    """A command ended; ``message`` says what and where, ``hint`` what to do next."""

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Usage(CommandError):
    """The command line is wrong: nothing was sent."""

    code = "usage"
    exit_code = 2


class ItemNotFound(CommandError):
    """The topic, group, message or file does not exist."""

    code = "not_found"
    exit_code = 3


class ServerUnreachable(CommandError):
    """No server answered in time."""

    code = "unreachable"
    exit_code = 4


class ServerRefused(CommandError):
    """A server answered, and the answer was no."""

    code = "refused"


class CheckFailed(CommandError):
    """What was asked to hold does not hold."""

    code = "check_failed"


class Incomplete(CommandError):
    """What was asked cannot be said, since a server that may know it did not answer."""

    code = "incomplete"
    exit_code = 5


class Damaged(CommandError):
    """Bytes at rest are not what they should be."""

    code = "damaged"
    exit_code = 6


class Interrupted(CommandError):
    """The person pressed Ctrl-C."""

    code = "interrupted"
    exit_code = 130


def did_you_mean(word: str, names: Iterable[str], otherwise: str) -> str:
    """Return the hint for a word that is not known: the nearest one, or what to do else."""
    # Only a wrong word needs a suggestion.
    from difflib import get_close_matches

    near = get_close_matches(word, list(names), n=1)
    return f"did you mean {near[0]}?" if near else otherwise


class Failure(NamedTuple):
    """What is printed of an error: ``{"error": {"code", "message", "hint"}}``."""

    code: str
    message: str
    hint: str
    exit_code: int

    @property
    def line(self) -> str:
        """Return the one line a person reads."""
        text = f"{self.message}; {self.hint}" if self.hint else self.message
        return " ".join(text.split())


CODE_OF_EXIT = {1: "failed", 2: "usage", 3: "not_found", 4: "unreachable", 6: "damaged"}

STORE_EXITS: tuple[tuple[type[StoreError], int], ...] = (
    (BadCall, 2),
    (NotAStore, 3),
    (NotInStore, 3),
    (RecordDamaged, 6),
    (ConfigDamaged, 6),
    (StoreError, 1),
)


REFUSALS = (
    (
        "AclException",
        "refused by access control: check --access-key, --secret-key and `acl show`",
    ),
    (
        "has no permission to access",
        "ACL 2.0 refused it: `acl2 test` shows the rule that decides, `acl2 set` changes it",
    ),
    (
        "check signature failed",
        "ACL 2.0 refused it: the secret key is not the password of the user",
    ),
    (
        "username cannot be null",
        "the broker has ACL 2.0: sign in with a context (`context add --help`), or --access-key "
        "and --secret-key",
    ),
    ("is disabled.", "ACL 2.0 refused it: `user update --status enable` lets the user in again"),
    ("is not found.", "ACL 2.0 refused it: `user list` shows the users of the broker"),
    ("is not exist.", "make it first: `user create`"),
)
"""What brokers with access control say when they refuse, and what to do; their response codes
are those of other errors as well."""


def refusal_hint(text: str) -> str:
    """Return what to do about a refusal of access control; empty where it is none."""
    return next((hint for said, hint in REFUSALS if said in text), "")


def describe(error: BaseException) -> Failure:
    """Return what to print of ``error``, whichever package raised it.

    Errors of the client and the protocol carry their own ``exit_code``; errors of the
    store format are matched by class; anything else is a fault of ours with exit code 1.
    """
    if isinstance(error, CommandError):
        return Failure(error.code, error.message, error.hint, error.exit_code)
    # Ctrl-C while a class is made, as a module loads, becomes the cause of a RuntimeError.
    if isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
        return Failure(Interrupted.code, "interrupted", "", Interrupted.exit_code)
    if isinstance(error, UnicodeEncodeError):
        return Failure(Usage.code, f"{error.object!a} is not UTF-8 text", "", Usage.exit_code)
    text = str(error) or type(error).__name__
    for kind, exit_code in STORE_EXITS:
        if isinstance(error, kind):
            return Failure(CODE_OF_EXIT[exit_code], text, "", exit_code)
    if hint := refusal_hint(text):
        return Failure(ServerRefused.code, text, hint, ServerRefused.exit_code)
    declared = getattr(error, "exit_code", None)
    if isinstance(declared, int):
        said = getattr(error, "hint", "")
        hint = said if isinstance(said, str) else ""
        return Failure(CODE_OF_EXIT.get(declared, "failed"), text, hint, declared)
    if isinstance(error, OSError):
        return _describe_os_error(error)
    return Failure(
        "internal", f"{type(error).__name__}: {text}", "run again with -v for the traceback", 1
    )


def _describe_os_error(error: OSError) -> Failure:
    where = f"{error.filename}: " if error.filename else ""
    text = f"{where}{error.strerror or error}"
    if isinstance(error, FileNotFoundError):
        return Failure(ItemNotFound.code, text, "check the path", ItemNotFound.exit_code)
    if isinstance(error, (ConnectionError, TimeoutError)):
        return Failure(
            ServerUnreachable.code, text, "check the address", ServerUnreachable.exit_code
        )
    return Failure("failed", text, "", 1)
