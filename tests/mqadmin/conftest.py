"""A console that remembers, a way to run one line, and real servers for the end-to-end tests."""

import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mqadmin.cli.run import run_line
from mqadmin.session.call import Workplace
from mqadmin.session.console import Console
from mqadmin.shell.server import EmbeddedServer, ServerAddresses


@dataclass(frozen=True, slots=True)
class Result:
    """What a line did."""

    exit_code: int
    out: str
    err: str

    @property
    def rows(self) -> list["Row"]:
        """Return the rows of ``-o json``."""
        made = json.loads(self.out)
        return made if isinstance(made, list) else [made]


Row = dict[str, Any]


def rows(done: Result, *, exit_code: int = 0) -> list[Row]:
    """Return the rows of a call with ``-o json``, which must have ended so."""
    assert done.exit_code == exit_code, (done.err, done.out)
    return done.rows


def cells(shown: list[Row], *names: str) -> list[tuple[Any, ...]]:
    """Return the columns of these names."""
    return [tuple(row[name] for name in names) for row in shown]


@dataclass(frozen=True, slots=True)
class Run:
    """Runs the words of a line."""

    line: Callable[..., Result]

    def __call__(self, *words: str, **more: object) -> Result:
        return self.line(*words, **more)

    def rows(self, *words: str, exit_code: int = 0, **more: object) -> list[Row]:
        """Return the rows of a line, which must end with this exit code."""
        return rows(self(*words, "--output=json", **more), exit_code=exit_code)

    def row(self, *words: str, exit_code: int = 0, **more: object) -> Row:
        """Return the only row of a line."""
        (row,) = self.rows(*words, exit_code=exit_code, **more)
        return row


class Terminal(io.StringIO):
    """A terminal that does not say how wide it is."""

    def isatty(self) -> bool:
        return True


def console_on(err: io.StringIO, *, out: io.StringIO | None = None, stdin: str = "") -> Console:
    """Return a console with these outputs, and an empty environment."""
    return Console(
        io.StringIO(stdin), out or io.StringIO(), err, out_is_tty=False, can_ask=False, env={}
    )


def console_of(
    env: dict[str, str], *, stdin: str = "", can_ask: bool = False
) -> tuple[Console, io.BytesIO, io.StringIO]:
    """Return a console and the buffers behind its two outputs."""
    out, err = io.BytesIO(), io.StringIO()
    console = Console(
        stdin=io.StringIO(stdin),
        out=io.TextIOWrapper(out, encoding="utf-8", write_through=True),
        err=err,
        out_is_tty=False,
        can_ask=can_ask,
        env=env,
    )
    return console, out, err


def run_words(
    words: Sequence[str],
    env: dict[str, str],
    workplace: Workplace,
    *,
    stdin: str = "",
    can_ask: bool = False,
    out_is_tty: bool = False,
) -> Result:
    """Run one line as the program would."""
    console, out, err = console_of(env, stdin=stdin, can_ask=can_ask)
    exit_code = run_line(words, console._replace(out_is_tty=out_is_tty), workplace)
    console.out.flush()
    return Result(exit_code, out.getvalue().decode("utf-8", "replace"), err.getvalue())


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Return an environment with no name server and an empty home."""
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def run(env: dict[str, str]) -> Iterator[Run]:
    """Return a function that runs one line as the program would."""
    workplace = Workplace()

    def run_here(*words: str, stdin: str = "", can_ask: bool = False) -> Result:
        return run_words(words, env, workplace, stdin=stdin, can_ask=can_ask)

    yield Run(run_here)
    workplace.link.close()


@pytest.fixture(scope="session")
def servers() -> Iterator[ServerAddresses]:
    """Return the addresses of a name server and a broker that run for all tests."""
    with EmbeddedServer() as server:
        yield server.addresses


@pytest.fixture
def at(run: Run, servers: ServerAddresses) -> Run:
    """Return a function that runs one line against the servers."""

    def run_there(*words: str, **more: object) -> Result:
        patience = () if "--timeout" in words else ("--timeout", "60")
        return run(*words, "--namesrv", servers.namesrv, *patience, **more)

    return Run(run_there)


@pytest.fixture
def topic(at: Run, request: pytest.FixtureRequest) -> str:
    """Return a topic of this test alone, with 2 queues."""
    name = re.sub(r"[^a-z0-9_]", "-", request.node.name)[:100]
    assert at("topic", "create", name, "-q", "2").exit_code == 0
    return str(name)
