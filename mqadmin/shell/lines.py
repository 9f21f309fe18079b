"""Split a line of the shell: words, pipes, redirection, several commands.

    message query key T 'a b' | grep hello | head 5 > out.txt; topic list
    |------ first stage -----|  |- filter -| |-----|   |file|  |next one|

Rule: quotes are those of a POSIX shell: single, double and a backslash. ``|`` and ``>`` only count
outside quotes and as separate words, because ``%RETRY%a|b`` may be a topic. ``;`` only counts at
the end of a word, because Java's users write two addresses as ``mq1:9876;mq2:9876``. ``#`` starts
a comment only at the start of a word. Nothing is expanded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from mqadmin.errors import Usage

BLANKS = " \t\r\n"
NEXT = ";"
OPERATORS = frozenset({"|", ">", ">>", NEXT})


class Quote(Enum):
    """The quote that is open at the end of a text."""

    NONE = auto()
    SINGLE = auto()
    DOUBLE = auto()
    BACKSLASH = auto()


@dataclass(frozen=True, slots=True)
class ShellWord:
    """One word: its value, where it starts in the text, and whether it was quoted."""

    text: str
    start: int
    quoted: bool

    @property
    def is_operator(self) -> bool:
        """Return whether it is an unquoted ``|``, ``>``, ``>>`` or ``;``."""
        return not self.quoted and self.text in OPERATORS


@dataclass(frozen=True, slots=True)
class SplitText:
    """The words of a text, and the quote that is open at its end."""

    words: list[ShellWord]
    inside: Quote
    ends_in_blank: bool


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command of a line, ready to run."""

    words: list[str]
    filters: list[list[str]] = field(default_factory=list)
    file: str | None = None
    append: bool = False


def split(text: str) -> SplitText:
    """Split a text into words; an open quote is not an error here."""
    words: list[ShellWord] = []
    state = Quote.NONE
    current: list[str] | None = None
    start, quoted = 0, False
    back_to = Quote.NONE
    pos = 0
    while pos < len(text):
        char = text[pos]
        pos += 1
        if state is Quote.BACKSLASH:
            state = back_to
            if state is Quote.DOUBLE and char not in '"\\':
                current = [*(current or []), "\\"]
            current = [*(current or []), char]
        elif char == "\\" and text[pos : pos + 1] == "\n" and state is not Quote.SINGLE:
            pos += 1
        elif char == "\\" and state is not Quote.SINGLE:
            if current is None:
                current, start = [], pos - 1
            back_to, state, quoted = state, Quote.BACKSLASH, True
        elif state is Quote.NONE and (char in BLANKS or _is_next(text, pos - 1)):
            if current is not None:
                words.append(ShellWord("".join(current), start, quoted))
            if char == NEXT:
                words.append(ShellWord(NEXT, pos - 1, False))
            current, quoted = None, False
        elif state is Quote.NONE and char == "#" and current is None:
            break
        else:
            if current is None:
                current, start = [], pos - 1
            state, shown = _quote(state, char)
            quoted = quoted or shown is None
            if shown is not None:
                current.append(shown)
    if current is not None:
        words.append(ShellWord("".join(current), start, quoted))
    return SplitText(words, state, current is None)


def _is_next(text: str, pos: int) -> bool:
    """Return whether a ``;`` at ``pos`` ends a command, that is, stands at the end of a word."""
    return text[pos] == NEXT and (pos + 1 == len(text) or text[pos + 1] in BLANKS)


def _quote(state: Quote, char: str) -> tuple[Quote, str | None]:
    """Return the state after ``char``, and the text that it adds (None for a quote)."""
    if state is Quote.NONE and char in "'\"":
        return (Quote.SINGLE if char == "'" else Quote.DOUBLE), None
    if (state, char) in {(Quote.SINGLE, "'"), (Quote.DOUBLE, '"')}:
        return Quote.NONE, None
    return state, char


def commands(words: Sequence[ShellWord]) -> list[list[ShellWord]]:
    """Return the words of each command of a line; the last one may be empty so far."""
    made: list[list[ShellWord]] = [[]]
    for word in words:
        if word.is_operator and word.text == NEXT:
            made.append([])
        else:
            made[-1].append(word)
    return made


def parse_line(text: str) -> list[ShellCommand]:
    """Return the commands of a line; none for an empty line or a comment.

    Raises:
        Usage: a quote is open, a stage is empty, or more than one file is named.
    """
    made = split(text)
    if made.inside is not Quote.NONE:
        raise Usage("a quote is not closed", hint="close it, or escape it with a backslash")
    return [_command(words) for words in commands(made.words) if words]


def _command(made: Sequence[ShellWord]) -> ShellCommand:
    stages: list[list[str]] = [[]]
    file: str | None = None
    append = False
    words = iter(made)
    for word in words:
        if word.is_operator and word.text == "|":
            stages.append([])
        elif word.is_operator:
            named = next(words, None)
            if named is None or named.is_operator or file is not None:
                raise Usage(f"`{word.text}` needs one file name")
            file, append = named.text, word.text == ">>"
        elif file is not None:
            raise Usage(f"unexpected {word.text!r} after the file name")
        else:
            stages[-1].append(word.text)
    if len(stages) > 1 and not all(stages):
        raise Usage("a `|` needs a command before it and a filter after it")
    if not stages[0] and file is not None:
        raise Usage("a `>` needs a command before it")
    return ShellCommand(stages[0], stages[1:], file, append)


def is_unfinished(text: str) -> bool:
    """Return whether a line continues: a quote is open, or it ends in a backslash."""
    return split(text).inside is not Quote.NONE
