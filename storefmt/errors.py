"""Every error that reading or writing bytes at rest can raise.

    StoreError
    ├── RecordDamaged   bytes of a record, an entry or a batch are not what their format says
    ├── ConfigDamaged   a JSON file of ``config/`` (or any fastjson text) cannot be read
    ├── NotAStore       a directory is not a RocketMQ store, or a kind that is not supported
    ├── NotInStore      a store has no such message, queue or file
    └── BadCall         the caller asked for something no format can hold

Rule: text is for people, attributes are for programs; a message is never parsed.
"""

from enum import StrEnum


class DamageKind(StrEnum):
    """What is wrong with bytes of a store; the value is the text that reports show."""

    TRUNCATED = "truncated"
    """The bytes end before the record does."""
    BAD_MAGIC = "bad_magic"
    BAD_SIZE = "bad_size"
    """The size field cannot be the size of such a record."""
    BAD_LENGTH = "bad_length"
    """The lengths inside the record do not add up to its size."""
    BAD_CRC = "bad_crc"
    BAD_TEXT = "bad_text"
    """Text that must be UTF-8 is not."""
    BAD_BODY = "bad_body"
    """A compressed body does not decompress, or to more than is allowed."""
    OFFSET_MISMATCH = "offset_mismatch"
    """The record says that it lies elsewhere in the commit log."""
    WRONG_FILE_NAME = "wrong_file_name"
    """The records of a file say that it lies elsewhere in the commit log than its name says."""
    ZEROS = "zeros"
    """Zero bytes where a record must be, and data again after them."""
    BAD_CHAIN = "bad_chain"
    """A chain of index entries leaves the file or turns in a circle."""


class StoreError(Exception):
    """Root of this package's errors."""


class RecordDamaged(StoreError):
    """Bytes are not what their format says.

    Args:
        text: what, where, what next.
        kind: what is wrong, for programs.
        pos: position of the record in the bytes that were given.
        field: the field that is wrong, as ``storefmt.formats.layout`` names it; empty for none.
        found: the value there, ``expected``: what it should have been; None where
            there is nothing to say.
    """

    def __init__(
        self,
        text: str,
        *,
        kind: str,
        pos: int = 0,
        field: str = "",
        found: int | str | None = None,
        expected: int | str | None = None,
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.pos = pos
        self.field = field
        self.found = found
        self.expected = expected


class ConfigDamaged(StoreError):
    """A fastjson text cannot be read, or does not hold what its file holds."""


class NotAStore(StoreError):
    """A directory is not a RocketMQ store, or one of a kind that is not supported."""


class NotInStore(StoreError):
    """A store that can be read has no such message, queue or file."""


class BadCall(StoreError):
    """The caller asked for something that no format can hold."""
