"""Run a Spark job as a process, so that the command line never imports Spark.

    python -m mqspark JOB DIR… --> standard output: rows as JSON lines
                                --> standard error: the page, progress, a plan, and at the
                                    end what failed, how much was skipped, or the verdict

Rule: rows come before the damage is reported, so a damaged store gives what it still has. Lines of
standard error that are not a JSON object are Spark's own; the last of them is reported only if the
job died without a message of ours. ``--explain`` shows Spark's plan before the job runs; with
``--dry-run`` beside it, or alone, nothing is run. The job ends with this process, however that
ends, because it watches its standard input, which only this process holds open.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

import click

from mqadmin.child_processes import module_command, module_environment
from mqadmin.cli.decorators import combine, more_stores, option_group
from mqadmin.cli.types import FILE_PATH, Choice
from mqadmin.errors import CommandError, Damaged, ItemNotFound, ServerUnreachable, Usage
from mqadmin.output.rows import Outcome, Row
from mqadmin.output.terminal.progress import Progress
from mqadmin.session.call import Call
from mqadmin.session.console import printable
from mqadmin.session.link import ServerTarget

ACCESS_KEY, SECRET_KEY = "MQADMIN_ACCESS_KEY", "MQADMIN_SECRET_KEY"
TLS_KEY_PASSWORD = "MQADMIN_TLS_KEY_PASSWORD"
ENDINGS: dict[int, type[CommandError]] = {
    2: Usage,
    3: ItemNotFound,
    4: ServerUnreachable,
    6: Damaged,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Where a job runs, and on which stores beside ``call.store_uri``."""

    engine: str
    master: str | None
    parquet: Path | None
    more: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """Return the arguments of the process."""
        words = ["--engine", self.engine]
        words += ["--master", self.master] if self.master is not None else []
        return words + (["--parquet", str(self.parquet)] if self.parquet is not None else [])


LOCAL: Final = Engine(engine="local", master=None, parquet=None)
"""For jobs that do not need Spark."""

JobOptions = Mapping[str, str | int | bool | Sequence[str] | None]
"""Options of a job by name; None, False and an empty list are omitted."""

_WHERE: Final = combine(
    click.option(
        "--master",
        help="Spark's master, such as local[2] or spark://HOST:PORT; by default this machine",
    ),
    click.option(
        "--parquet", type=FILE_PATH, metavar="FILE", help="also write the rows to this file"
    ),
)
_STORE_ENGINE: Final = combine(
    click.option(
        "--engine",
        type=Choice(["auto", "spark", "local"]),
        default="auto",
        help="spark, or local: the same rows from one process, without Java; auto chooses local "
        "below 20 GiB if --master is not given",
    ),
    _WHERE,
)
_LIVE_ENGINE: Final = combine(
    click.option(
        "--engine",
        type=Choice(["spark", "local"]),
        default="spark",
        help="spark, or local: the same rows from one process, without Java",
    ),
    _WHERE,
)
of_live_job = option_group("where", Engine, _LIVE_ENGINE)
"""The options of a job over topics or an archive, whose engine does not follow from a size."""
of_store_job = option_group("where", Engine, _STORE_ENGINE)
of_stores_job = option_group("where", Engine, _STORE_ENGINE, more_stores)
"""The options of the engine, and further stores after the first."""


@dataclass(slots=True)
class _Said:
    """The messages of a job."""

    last: dict[str, object] = field(default_factory=dict)
    spark: str = ""


def run_job(
    call: Call,
    job: str,
    where: Engine,
    *,
    row: Callable[..., Row],
    options: JobOptions | None = None,
) -> Outcome:
    """Run a job to its end and return its rows; what it skipped is raised behind them.

    Args:
        row: makes a row of the fields that the job prints.
        options: the job's own.

    Raises:
        CommandError: the job failed; the class follows its exit code.
    """
    words = ["mqspark", job, call.store_uri, *where.more]
    return _run_process(call, job, words, where, row=row, options=options or {})


def run_live_job(
    call: Call,
    job: str,
    archive: str,
    where: Engine,
    *,
    row: Callable[..., Row],
    options: JobOptions,
    target: ServerTarget | None = None,
) -> Outcome:
    """Run a job that talks to brokers, or moves an archive, to its end; return its rows.

    Args:
        archive: directory or URI.
        target: the servers it talks to; None for a job that needs no servers.

    Raises:
        CommandError: the job failed; the class follows its exit code.
    """
    own = dict(options)
    secrets: dict[str, str] = {}
    if target is not None:
        own |= {"namesrv": target.namesrv, "timeoutMs": str(round(target.timeout_s * 1000))}
        if target.address_map:
            own["addressMap"] = ",".join(map("=".join, target.address_map))
        # Other users of a machine see the arguments of a process, but not its environment.
        if target.access_key and target.secret_key:
            secrets = {ACCESS_KEY: target.access_key, SECRET_KEY: target.secret_key}
        if target.tls is not None:
            tls = target.tls
            own |= {"tls": "true", "tlsCa": tls.ca, "tlsCert": tls.cert, "tlsKey": tls.key}
            secrets |= {TLS_KEY_PASSWORD: tls.key_password} if tls.key_password else {}
    words = ["mqspark.cli.live_jobs", job, archive]
    return _run_process(call, job, words, where, row=row, options=own, secrets=secrets)


def _run_process(
    call: Call,
    job: str,
    words: Sequence[str],
    where: Engine,
    *,
    row: Callable[..., Row],
    options: JobOptions,
    secrets: Mapping[str, str] | None = None,
) -> Outcome:
    if find_spec("pyarrow") is None:
        raise CommandError(
            "jobs of the pipeline need pyarrow, which is not installed",
            hint="pip install 'mqadmin[spark]' installs it and Spark",
        )
    line = module_command(*words, *where.words(), "--until-stdin-closes")
    line += ["--explain"] if call.settings.explain else []
    line += ["--dry-run"] if call.dry_run else []
    for name, value in options.items():
        word = _word_of(value)
        line += ["--option", f"{name}={word}"] if word is not None else []
    rows = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed behind its rows
    environment = module_environment(secrets)
    with subprocess.Popen(
        line,
        stdin=subprocess.PIPE,
        stdout=rows,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        assert process.stderr is not None
        try:
            said = _listen(call, job, process.stderr)
        except BaseException:
            # Ctrl-C, SIGTERM: without this the end of the block would wait for the job.
            process.terminate()
            raise
    if process.returncode:
        rows.close()
        message = said.last.get("error") or said.spark
        message = message or f"pipeline {job} ended with {process.returncode}"
        raise ENDINGS.get(process.returncode, CommandError)(str(message))
    verdict = said.last.get("exit", 0)
    assert isinstance(verdict, int)
    return Outcome(_rows(rows, row, said.last.get("damage", 0)), exit_code=verdict)


def _word_of(value: str | int | bool | Sequence[str] | None) -> str | None:
    """Return the value of an option as a job reads it; None for one that is left out."""
    if isinstance(value, bool):
        return "true" if value else None
    if isinstance(value, str | int):
        return str(value)
    return ",".join(value or ()) or None


def _listen(call: Call, job: str, lines: IO[str]) -> _Said:
    said = _Said()
    with Progress(call.console, f"pipeline {job}", unit="tasks") as progress:
        for text in lines:
            message = _object_of(text)
            match message:
                case {"ui": page}:
                    call.warn(f"Spark shows the job at {page}")
                case {"hint": hint}:
                    call.warn(str(hint))
                case {"progress": [int(done), int(total)]}:
                    progress(done, total)
                case {"plan": plan}:
                    for line in str(plan).splitlines():
                        call.console.err.write(f"{printable(line)}\n")
                case _ if message:
                    said.last = message
                case _:
                    said.spark = text.strip() or said.spark
    return said


def _object_of(text: str) -> dict[str, object]:
    if not text.startswith('{"'):
        return {}
    try:
        message: dict[str, object] = json.loads(text)
    except ValueError:
        # It is a line of Spark's that only begins like one of ours.
        return {}
    return message


def _rows(lines: IO[str], row: Callable[..., Row], skipped: object) -> Iterator[Row]:
    with lines:
        lines.seek(0)
        for text in lines:
            yield row(**json.loads(text))
    if skipped:
        raise Damaged(
            f"skipped {skipped} damaged places of the commit log",
            hint="`store verify` lists them",
        )
