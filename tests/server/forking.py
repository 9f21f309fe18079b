"""Runs a script in a forked process and lets strace kill it at its N-th call, or fail the call.

    test ── directory ──> python -m tests.server.forking MODULE ── fork ──> child, stopped
         ── strace -p child -e inject=… ──> SIGCONT ──> MODULE.scripted_run ──> ends, or is killed

Rule: what is imported is imported before the fork, so that a child costs milliseconds and
counts no call of others. A child writes its report into shared memory, which takes no call and
outlives the child. The call at which a child is killed is not done.
"""

import contextlib
import importlib
import mmap
import os
import shutil
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from tests import soak
from tests.golden import REPOSITORY

Result = TypeVar("Result")
PROCESSORS = 2
NEVER = "retval=0:when=60000"
"""What happens in no run, which has fewer calls."""
SAID_SIZE = 4096
"""Most bytes that a script may report."""


@dataclass(frozen=True)
class Ended:
    """How one run ended, and what it had reported by then."""

    was_hit: bool
    """The call was made, and the effect happened."""
    was_killed: bool
    said: bytes


class ForkServer:
    """Forks children of a process that has imported one module.

    Args:
        module: has ``scripted_run(root, said)``; may have ``check(root, said)``, which is
            then run in a child of its own after each run.
    """

    def __init__(self, module: str, directory: Path) -> None:
        self._errors = directory / "children.log"
        self.trace = directory / "trace"
        """What strace wrote in the last run: the calls of the requested kinds."""
        path = os.pathsep.join([str(REPOSITORY), *sys.path])
        with self._errors.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-m", "tests.server.forking", module],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def close(self) -> None:
        self._process.communicate()

    def _ask(self, word: str) -> str:
        stdin, stdout = self._process.stdin, self._process.stdout
        print(word, file=stdin, flush=True)
        answer = stdout.readline().strip()
        assert answer, self._errors.read_text()
        return answer

    def run(self, root: Path, call: str, effect: str) -> Ended:
        """Run the script; ``effect`` happens in ``call``.

        Args:
            effect: as strace's ``inject`` has it: ``signal=SIGKILL:when=7``, ``error=EIO:when=7+``.
        """
        pid = int(self._ask(f"run {root}"))
        words = ["strace", "-f", "-o", str(self.trace), "-p", str(pid)]
        words += ["-e", f"trace={call}", "-e", f"inject={call}:{effect}", "-e", "signal=none"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as strace:
            line = strace.stderr.readline()
            if "attached" not in line:
                os.kill(pid, signal.SIGKILL)
                self._ask("")
                pytest.skip(f"strace may not trace here: {line.strip()}")
            os.kill(pid, signal.SIGCONT)
            status, said = self._ask("").split()
            strace.communicate()
        killed = os.WIFSIGNALED(int(status)) and os.WTERMSIG(int(status)) == signal.SIGKILL
        assert killed or int(status) == 0, self._errors.read_text()
        hit = killed or "(INJECTED)" in self.trace.read_text()
        return Ended(hit, killed, bytes.fromhex(said))

    def check(self, root: Path, ended: Ended) -> None:
        """Let a child check the directory after a run."""
        status = self._ask(f"check {ended.said.hex()} {root}")
        assert status == "0", f"{root}: {self._errors.read_text()}"


@contextlib.contextmanager
def fork_server(module: str, directory: Path) -> Iterator[ForkServer]:
    """Start a server of children of a module; skip the test where calls cannot be injected."""
    if shutil.which("strace") is None:
        pytest.skip("no strace: install it to kill a process at a call")
    found = ForkServer(module, directory)
    try:
        yield found
    finally:
        found.close()


def changing_calls(
    module: str, directory: Path, calls: Sequence[str], count: int
) -> list[tuple[str, int]]:
    """Return kind and number of each call of some kinds that changes something in a whole run.

    Args:
        count: the name of the directory that the script gets.
    """
    directory.mkdir()
    with fork_server(module, directory) as children:
        assert not children.run(directory / str(count), ",".join(calls), NEVER).was_hit
        lines = children.trace.read_text().splitlines()
    numbers: Counter[str] = Counter()
    found = []
    for line in lines:
        call = line.split()[1].partition("(")[0]
        if call in calls:
            numbers[call] += 1
            if call != "openat" or "O_CREAT" in line:
                found.append((call, numbers[call]))
    return found


def at_each_call(
    act: Callable[[ForkServer, Path, str, int], Result],
    module: str,
    directory: Path,
    points: Sequence[tuple[str, int]],
    *,
    minutes: float,
) -> list[Result]:
    """Return what ``act`` returns for calls of some kinds and numbers, as far as there is time.

    Args:
        minutes: see ``soak.some``.
    """

    def walk(part: int) -> list[Result]:
        own = directory / f"part{part}"
        own.mkdir()
        share = soak.some(points[part::PROCESSORS], minutes=minutes)
        with fork_server(module, own) as children:
            return [act(children, own, call, number) for call, number in share]

    with ThreadPoolExecutor(PROCESSORS) as threads:
        return [result for found in threads.map(walk, range(PROCESSORS)) for result in found]


def _child(action: Sequence[object], stop: bool) -> int:
    """Fork, and run ``action`` in the child; return its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        # stdout is for answers only.
        os.dup2(2, 1)
        if stop:
            os.kill(os.getpid(), signal.SIGSTOP)
        function, *arguments = action
        function(*arguments)  # type: ignore[operator]
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def main(module: str) -> None:
    script = importlib.import_module(module)
    said = mmap.mmap(-1, SAID_SIZE)
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "check":
            told, _, root = rest.partition(" ")
            pid = _child((script.check, Path(root), bytes.fromhex(told)), stop=False)
            print(os.waitpid(pid, 0)[1], flush=True)
            continue
        said[:] = bytes(SAID_SIZE)
        pid = _child((script.scripted_run, Path(rest), said), stop=True)
        os.waitpid(pid, os.WUNTRACED)
        print(pid, flush=True)
        sys.stdin.readline()
        status = os.waitpid(pid, 0)[1]
        print(status, bytes(said).rstrip(b"\0").hex() or "00", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
