"""Holds system calls of a broker's process: builds the library beside this file and talks to it.

    with HeldCalls(directory) as calls:        broker starts with ``calls.env``
        with calls.held("pwrite", "/commitlog/"):
            …                                  the process waits in its next such call

Rule: a call is held by its name and a part of the path of its file, for as long as the block lasts.
"""

import mmap
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest

_SOURCE: Final = Path(__file__).with_suffix(".c")
_COUNT: Final = struct.Struct("=i")
_CALL_SIZE: Final = 60
_PATH_SIZE: Final = 192


class HeldCalls:
    """The calls of one process.

    Args:
        directory: where the library and the page that both sides map are put.
    """

    def __init__(self, directory: Path) -> None:
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler to build the library that holds calls")
        library, page = directory / "held_calls.so", directory / "held_calls"
        subprocess.run(
            [compiler, "-O2", "-fPIC", "-shared", "-o", library, _SOURCE, "-ldl"], check=True
        )
        page.write_bytes(bytes(mmap.PAGESIZE))
        with page.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.env = {"LD_PRELOAD": str(library), "HELD_CALLS": str(page)}
        """The variables with which the process has to be started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._page.close()

    @property
    def held_count(self) -> int:
        """How many calls were held since ``held`` began."""
        return int(_COUNT.unpack_from(self._page)[0])

    @contextmanager
    def held(self, call: str, path: str) -> Iterator[None]:
        """Hold each call of this name on a file whose path has this part."""
        _COUNT.pack_into(self._page, 0, 0)
        begin = _COUNT.size + _CALL_SIZE
        self._page[begin : begin + _PATH_SIZE] = path.encode().ljust(_PATH_SIZE, b"\0")
        # The name last: with it the library begins to hold.
        self._page[_COUNT.size : begin] = call.encode().ljust(_CALL_SIZE, b"\0")
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Let all calls go on that are held, and hold no others."""
        self._page[_COUNT.size : _COUNT.size + _CALL_SIZE] = bytes(_CALL_SIZE)
