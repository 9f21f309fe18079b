"""Formats for programs that keep types: json, jsonl, yaml, msgpack.

    json     one array (or one object), a row on a line
    jsonl    one object on a line, no array
    yaml     a list of maps
    msgpack  one array; maps one after the other while following

Rule: text stays text as it is, 64-bit numbers stay whole numbers.
"""

import json
import re
from typing import Final, TextIO

from mqadmin.output.columns import Record
from mqadmin.output.printer import Look, Printer, binary_of

_STEERS: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that JSON does not escape but a terminal obeys: C1 controls, direction marks."""


def json_text(value: object, *, pretty: bool = False) -> str:
    """Return json that escapes only control and invisible characters."""
    text = json.dumps(value, ensure_ascii=False, indent=2 if pretty else None)
    return text if text.isascii() and "\x7f" not in text else _STEERS.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


class JsonPrinter(Printer):
    """One array with a row on each line, or one indented object."""

    def __init__(self, out: TextIO, look: Look) -> None:
        super().__init__(out, look)
        self._count = 0

    def row(self, record: Record) -> None:
        if self.look.single:
            text = json_text(record, pretty=True) + "\n"
        else:
            text = ("[" if self._count == 0 else ",") + "\n  " + json_text(record)
        # Counted before the write, which Ctrl-C may interrupt, so that ``end`` knows of the row.
        self._count += 1
        self.out.write(text)

    def end(self) -> None:
        if not self.look.single:
            self.out.write("\n]\n" if self._count else "[]\n")


class JsonLinesPrinter(Printer):
    """One object on each line."""

    def row(self, record: Record) -> None:
        self.out.write(json_text(record) + "\n")


class YamlPrinter(Printer):
    """A list of maps, or one map."""

    def __init__(self, out: TextIO, look: Look) -> None:
        import yaml

        super().__init__(out, look)
        self._yaml = yaml
        self._count = 0

    def row(self, record: Record) -> None:
        shown = record if self.look.single else [record]
        # YAML has no other escape for characters that control a terminal.
        steers = _STEERS.search(json.dumps(record, ensure_ascii=False)) is not None
        self.out.write(
            self._yaml.safe_dump(shown, sort_keys=False, allow_unicode=not steers, width=1000)
        )
        self._count += 1

    def end(self) -> None:
        if not self._count and not self.look.single:
            self.out.write("[]\n")


class MsgpackPrinter(Printer):
    """One array of maps, or one map; bytes, so it needs a stream that takes them."""

    def __init__(self, out: TextIO, look: Look) -> None:
        import msgpack

        super().__init__(out, look)
        self._pack = msgpack.packb
        self._bytes = binary_of(out)
        self._rows: list[Record] = []

    def row(self, record: Record) -> None:
        if self.look.single or self.look.follow:
            self._bytes.write(self._pack(record))
            self._bytes.flush()
        else:
            self._rows.append(record)

    def end(self) -> None:
        if not self.look.single and not self.look.follow:
            self._bytes.write(self._pack(self._rows))
        self._bytes.flush()
