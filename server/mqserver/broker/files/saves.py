"""Write the JSON state files of a broker without blocking its loop.

    mark("topics")  ->  one worker thread writes the newest content  ->  ``saved`` is called
    close()         ->  every file is written once more

Rule: one file is written at a time. A file that is marked while it is written is written again.
The loop only takes a snapshot; the worker formats it as text. When a write fails, the error is
logged and passed to the callbacks, and the next mark tries again.

Source: common/ConfigManager.java#persist.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from mqserver.broker.serving.answers import with_code
from mqserver.broker.serving.group_commit import Done, Sink
from mqserver.runtime.jsonfile import write_atomic
from mqserver.runtime.request import Request
from remoting.codes import ResponseCode

LOG = logging.getLogger(__name__)

Saved = Callable[[OSError | None], None]
"""Called when the content at the time of the mark is on disk, or with the error."""

Content = Callable[[], Callable[[], str]]
"""Takes a snapshot on the loop, and returns a function that formats it in a thread."""

Write = Callable[[Path, str], None]
"""Replaces the content of a file so that a crash leaves the old or the new one."""

Snapshot = Callable[[], Callable[[Write], None]]
"""Takes a snapshot on the loop, and returns a function that writes it in a thread."""


@dataclass(slots=True)
class _File:
    path: Path
    snapshot: Snapshot
    is_needed: bool
    """False for a file that is not written until it has been marked."""
    change_count: int
    """The change count of its table at the last ``mark_changed``."""
    marked: bool = False
    waiting: list[Saved] = field(default_factory=list)


class StateFiles:
    """The state files of one broker.

    Args:
        write: replaces the content of a file.
    """

    def __init__(self, *, write: Write = write_atomic) -> None:
        self._write = write
        self._files: dict[str, _File] = {}
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="state-files")
        self._task: asyncio.Task[None] | None = None
        self._is_open = False

    def add(
        self,
        path: Path,
        content: Content,
        *,
        name: str | None = None,
        is_needed: bool = True,
    ) -> None:
        """Declare a file.

        Args:
            path: where it is written.
            content: gives its content.
            name: for ``mark``; by default the file name without its suffix.
            is_needed: whether ``close`` writes it even if it was never marked.
        """

        def snapshot() -> Callable[[Write], None]:
            text = content()
            return lambda write: write(path, text())

        self.add_written(path, snapshot, name=name, is_needed=is_needed)

    def add_written(
        self, path: Path, snapshot: Snapshot, *, name: str | None = None, is_needed: bool = True
    ) -> None:
        """Declare a file that ``snapshot`` writes; the arguments are those of ``add``."""
        # The count -1 differs from any table's, so the first ``mark_changed`` of a file that is
        # needed has it written even if its table has not changed.
        self._files[name or path.stem] = _File(path, snapshot, is_needed, -1 if is_needed else 0)

    def file_name(self, name: str) -> str:
        """Return the file name of a declared file."""
        return self._files[name].path.name

    def open(self) -> None:
        """Allow writing; before this, marks are only kept, so nothing is saved before the load."""
        self._is_open = True
        if any(file.marked for file in self._files.values()):
            self._start()

    def mark(self, name: str, saved: Saved | None = None) -> None:
        """Have one file written soon, then call ``saved``."""
        file = self._files[name]
        file.marked = file.is_needed = True
        if saved is not None:
            file.waiting.append(saved)
        if self._is_open:
            self._start()

    def mark_changed(self, name: str, change_count: int) -> None:
        """Have one file written soon if its table has changed since the last call.

        Args:
            name: of the file.
            change_count: how often the table has changed since the start.
        """
        file = self._files[name]
        if change_count != file.change_count:
            file.change_count = change_count
            self.mark(name)

    async def settle(self) -> None:
        """Return when every file that was marked until now is written."""
        if self._task is not None:
            await self._task

    async def close(self) -> None:
        """Write every file a last time and stop the worker.

        Raises:
            OSError: a file could not be written; the others were.
        """
        self._is_open = False
        await self.settle()
        failed: OSError | None = None
        for file in self._files.values():
            if not file.is_needed:
                continue
            try:
                file.snapshot()(self._write)
            except OSError as error:
                LOG.error("cannot write %s: %s", file.path, error)
                failed = error
        self._worker.shutdown()
        if failed is not None:
            raise failed

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(
                self._save_files(), name="state-files"
            )

    async def _save_files(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            # Requests of the same pass of the loop share one write.
            await asyncio.sleep(0)
            file = next((file for file in self._files.values() if file.marked), None)
            if file is None:
                return
            file.marked = False
            waiting, file.waiting = file.waiting, []
            job = file.snapshot()
            error: OSError | None = None
            try:
                await loop.run_in_executor(self._worker, job, self._write)
            except OSError as failure:
                LOG.error("cannot write %s: %s", file.path, failure)
                error = failure
            for saved in waiting:
                saved(error)


class SavedFirst:
    """Stands in for the connection of an answer that also has to wait for a state file.

    Args:
        sink: the connection.
        files: writes the file.
        name: of the file, whose present content has to be on disk first.
    """

    __slots__ = ("_code", "_frame", "_is_saved", "_sink")

    def __init__(self, sink: Sink, files: StateFiles, name: str) -> None:
        self._sink = sink
        self._frame: bytes | None = None
        self._is_saved = False
        self._code: ResponseCode | None = None
        files.mark(name, self._saved)

    def send(self, frame: bytes) -> None:
        """Send the frame when the file is written, with code 10 if it cannot be written."""
        if not self._is_saved:
            self._frame = frame
            return
        self._sink.send(frame if self._code is None else with_code(frame, self._code))

    def _saved(self, error: OSError | None) -> None:
        self._is_saved = True
        self._code = None if error is None else ResponseCode.FLUSH_DISK_TIMEOUT
        if self._frame is not None:
            self.send(self._frame)


def done_when_saved(files: StateFiles, name: str, done: Done) -> Done:
    """Return a function that, when called, waits for a state file to be on disk and calls ``done``.

    ``done`` gets SUCCESS only if both succeeded.
    """
    codes: list[ResponseCode] = []

    def wait_for_save(code: ResponseCode) -> None:
        codes.append(code)
        if len(codes) == 2:
            done(next((code for code in codes if code is not ResponseCode.SUCCESS), code))

    doubt = ResponseCode.FLUSH_DISK_TIMEOUT
    files.mark(name, lambda error: wait_for_save(ResponseCode.SUCCESS if error is None else doubt))
    return wait_for_save


def answer_when_saved(
    files: StateFiles,
    request: Request,
    *,
    name: str,
    remark: str | None = None,
    then: Callable[[Callable[[], None]], None] = lambda answer: answer(),
) -> None:
    """Answer a change of state when its file is on disk, or with the error of the write.

    Args:
        files: writes the file.
        request: is answered.
        name: of the file.
        remark: of the answer if the write succeeds.
        then: called after the write, with a function that sends the answer.
    """

    def saved(error: OSError | None) -> None:
        if error is None:
            then(lambda: request.reply(request.command.response(remark=remark)))
            return
        file = files.file_name(name)
        fault = f"changed in memory, but {file} could not be written: {error}"
        request.reply(request.command.response(ResponseCode.SYSTEM_ERROR, remark=fault))

    files.mark(name, saved)
