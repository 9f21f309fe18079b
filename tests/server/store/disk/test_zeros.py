"""Bytes behind the end of the data are found without reading the reserved space."""

from mqserver.store.disk.zeros import data_parts, first_data

LOG_FILE_SIZE = 1 << 30
PAGE_SIZE = 4096
READ_SIZE_MAX = 2 << 20


class ReservedFile:
    """A file of reserved space: a page of it counts as data once it was read or written."""

    def __init__(self, written: dict[int, bytes]) -> None:
        self.read_size = 0
        self._written = written
        self._cached = {page for pos in written for page in [pos // PAGE_SIZE]}

    def pread(self, size: int, pos: int) -> bytes:
        self.read_size += size
        self._cached.update(range(pos // PAGE_SIZE, -(-(pos + size) // PAGE_SIZE)))
        data = bytearray(size)
        for at, part in self._written.items():
            if pos <= at < pos + size:
                data[at - pos : at - pos + len(part)] = part
        return bytes(data)

    def next_data(self, pos: int) -> int | None:
        pages = [page for page in self._cached if page >= pos // PAGE_SIZE]
        return max(pos, min(pages) * PAGE_SIZE) if pages else None


def test_the_rest_of_a_reserved_file_is_not_read() -> None:
    file = ReservedFile({0: b"record"})

    assert first_data(file, 6, LOG_FILE_SIZE) is None  # type: ignore[arg-type]

    assert file.read_size <= READ_SIZE_MAX


def test_parts_begin_and_end_with_a_byte_that_is_not_zero() -> None:
    file = ReservedFile({0: b"record", 9_000: b"\0torn\0", 5 << 20: b"\0late"})

    parts = list(data_parts(file, 6, LOG_FILE_SIZE))  # type: ignore[arg-type]

    assert parts == [(9_001, b"torn"), ((5 << 20) + 1, b"late")]
    assert file.read_size <= 2 * READ_SIZE_MAX
