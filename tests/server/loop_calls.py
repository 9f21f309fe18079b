"""The calls by which the event loop itself changes files, or asks the file system about them."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from mqserver.broker.serving import flusher
from mqserver.store.disk.disk import RealDisk, RealFile

OF_FILES: Final = ("pwrite", "fdatasync", "allocate", "truncate")
OF_PATHS: Final = ("rename", "unlink", "mkdir", "fsync_dir", "sync_all", "rmdir", "usage")


class LoopCalls:
    """The calls of the thread that makes this object, each with the room of the store.

    Args:
        root: the store's directory.
        monkeypatch: undoes the recording at the end of the test.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: set[str] = set()
        self._root = root
        self._thread = threading.current_thread()
        for name in OF_FILES:
            monkeypatch.setattr(RealFile, name, self._noted(name, getattr(RealFile, name), _name))
        for name in OF_PATHS:
            monkeypatch.setattr(RealDisk, name, self._noted(name, getattr(RealDisk, name), str))
        whole_open = RealDisk.open

        def opened(disk: RealDisk, path: Any, *, create: bool = False, size: int = 0) -> Any:
            if create:
                self._note("open", str(path))
            return whole_open(disk, path, create=create, size=size)

        monkeypatch.setattr(RealDisk, "open", opened)

    def _noted(
        self, name: str, call: Callable[..., Any], path_of: Callable[[Any], str]
    ) -> Callable[..., Any]:
        def noted(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(owner, RealFile) or args:
                self._note(name, path_of(owner if isinstance(owner, RealFile) else args[0]))
            return call(owner, *args, **kwargs)

        return noted

    def _note(self, name: str, path: str) -> None:
        if threading.current_thread() is self._thread:
            parts = Path(path).relative_to(self._root).parts
            self.found.add(f"{name} {parts[0] if parts else 'store'}")


def without_compiled_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python's threads write the log: calls of the compiled one would not be seen."""
    monkeypatch.setattr(flusher, "disk_thread", None)


def _name(file: RealFile) -> str:
    return os.readlink(f"/proc/self/fd/{file.fileno()}")
