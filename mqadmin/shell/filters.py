"""Filters after ``|``, done in this process: no other program is started.

    grep [-i] [-v] PATTERN    lines that match (or not)
    head [N]   tail [N]       first or last lines, 10 by default
    sort [-r]  uniq           lines in order; without neighbours that repeat
    count                     how many lines
    json [PATH]               the rows as json, or the part at a.b[0].c
    record                    each row as a block of name and value lines

Rule: a filter is a function from text to text, and an error names the filter.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from mqadmin.console import printable
from mqadmin.errors import NotFound, Usage

COUNT_DEFAULT = 10
WANT_JSON = frozenset({"json", "record"})
"""Filters that read the rows as json, whatever format is set."""
STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?[0-9]+)?\]")


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter: what it does and how it is used."""

    run: Callable[[str, list[str]], str]
    usage: str


def apply(text: str, words: list[str]) -> str:
    """Return ``text`` after the filter that ``words`` name.

    Raises:
        Usage: there is no such filter, or its words are wrong.
        NotFound: a json path leads nowhere.
    """
    return filter_named(words[0]).run(text, words[1:])


def filter_named(name: str) -> Filter:
    """Return the filter of this name.

    Raises:
        Usage: there is none.
    """
    found = FILTERS.get(name)
    if found is None:
        raise Usage(f"no filter `{name}`", hint="there are " + ", ".join(FILTERS))
    return found


def _grep(text: str, words: list[str]) -> str:
    flags = [word for word in words if word in {"-i", "-v", "-iv", "-vi"}]
    rest = [word for word in words if word not in flags]
    if len(rest) != 1:
        raise Usage("grep takes one pattern", hint=FILTERS["grep"].usage)
    given = "".join(flags)
    try:
        pattern = re.compile(rest[0], re.IGNORECASE if "i" in given else 0)
    except re.error as error:
        raise Usage(f"grep: {rest[0]!r} is no pattern: {error}") from None
    wanted = "v" not in given
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if bool(pattern.search(line)) is wanted)


def _head(text: str, words: list[str]) -> str:
    return "".join(text.splitlines(keepends=True)[: _count("head", words)])


def _tail(text: str, words: list[str]) -> str:
    count = _count("tail", words)
    return "".join(text.splitlines(keepends=True)[-count:]) if count else ""


def _count(name: str, words: list[str]) -> int:
    given = [word.removeprefix("-n").removeprefix("-") for word in words]
    given = [word for word in given if word]
    if not given:
        return COUNT_DEFAULT
    if len(given) > 1 or not given[0].isdecimal():
        raise Usage(f"{name} takes one number of lines", hint=FILTERS[name].usage)
    return int(given[0])


def _sort(text: str, words: list[str]) -> str:
    if words not in ([], ["-r"]):
        raise Usage("sort takes only -r", hint="use --sort COLUMN on the command")
    return "".join(sorted(_whole_lines(text), reverse=bool(words)))


def _uniq(text: str, words: list[str]) -> str:
    if words:
        raise Usage("uniq takes no words")
    return "".join(line for line, _ in groupby(_whole_lines(text)))


def _whole_lines(text: str) -> list[str]:
    return [line + "\n" for line in text.splitlines()]


def _lines(text: str, words: list[str]) -> str:
    if words:
        raise Usage("count takes no words")
    return f"{len(text.splitlines())}\n"


def _json(text: str, words: list[str]) -> str:
    if len(words) > 1:
        raise Usage("json takes one path", hint=FILTERS["json"].usage)
    if not text.strip():
        return ""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Usage(f"json: the rows before are no json ({error})") from None
    parts = _walk(value, words[0]) if words else [value]
    return "".join(_shown(part) + "\n" for part in parts)


def _record(text: str, words: list[str]) -> str:
    if words:
        raise Usage("record takes no words")
    try:
        value = json.loads(text or "[]")
    except ValueError as error:
        raise Usage(f"record: the rows before are no json ({error})") from None
    blocks = []
    for number, row in enumerate(value if isinstance(value, list) else [value], 1):
        pairs = row if isinstance(row, dict) else {"value": row}
        width = max((len(name) for name in pairs), default=0) + 2
        lines = [f"{name + ':':<{width}}{_cell(part)}" for name, part in pairs.items()]
        blocks.append("\n".join([f"-- {number} --", *lines]) + "\n")
    return "".join(blocks)


def _cell(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "" if value is None else printable(text)


def _walk(value: object, path: str) -> list[object]:
    """Return what a path leads to; in a list without number it goes into every element."""
    found = [value]
    for step in STEP.finditer(path.strip(".")):
        name, index = step[1], step[2]
        found = [part for one in found for part in _step(one, name, index, path)]
    return found


def _step(value: object, name: str | None, index: str | None, path: str) -> list[object]:
    if isinstance(value, list):
        if name is not None:
            return [part for item in value for part in _step(item, name, None, path)]
        if index is None:
            return list(value)
        if -len(value) <= int(index) < len(value):
            return [value[int(index)]]
    if isinstance(value, dict) and name in value:
        return [value[name]]
    raise NotFound(f"json: nothing at {name or f'[{index}]'} of {path!r}")


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


FILTERS: dict[str, Filter] = {
    "grep": Filter(_grep, "grep [-i] [-v] PATTERN"),
    "head": Filter(_head, "head [N]"),
    "tail": Filter(_tail, "tail [N]"),
    "sort": Filter(_sort, "sort [-r]"),
    "uniq": Filter(_uniq, "uniq"),
    "count": Filter(_lines, "count"),
    "json": Filter(_json, "json [PATH]"),
    "record": Filter(_record, "record"),
}
