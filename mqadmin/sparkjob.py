"""Running a pipeline job as a process: the command line never imports Spark.

    python -m pipeline JOB DIR --> rows as JSON lines; the last line of standard error says
                                   what failed, or how much was skipped

Rule: rows come before the damage is told, so a damaged store gives what it still has.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from mqadmin.errors import CommandError, Damaged, NotFound, Usage
from mqadmin.parameters import option

ENDINGS: dict[int, type[CommandError]] = {2: Usage, 3: NotFound}
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Where a job runs."""

    engine: Annotated[
        Literal["spark", "local"],
        option("spark, or local: the same rows counted in one process, without Java"),
    ] = "spark"
    master: Annotated[str, option("Spark's master, as local[2] or spark://HOST:PORT")] = "local[*]"


def rows_of(
    job: str,
    store_dir: Path | None,
    where: Engine,
    *,
    row: Callable[..., R],
    options: Mapping[str, str] | None = None,
) -> Iterator[R]:
    """Yield the rows of a job; its error, or the damage it met, is raised at the end.

    Args:
        row: makes a row of the fields that the job prints.
        options: the job's own, by name.

    Raises:
        CommandError: the job failed; the class follows its exit code.
        Damaged: part of the store was skipped.
    """
    line = [sys.executable, "-m", "pipeline", job, str(store_dir)]
    line += ["--engine", where.engine, "--master", where.master]
    for name, value in (options or {}).items():
        line += ["--option", f"{name}={value}"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    for text in done.stdout.splitlines():
        yield row(**json.loads(text))
    said = _last_words(done.stderr)
    if done.returncode:
        message = said.get("error", done.stderr.strip() or f"pipeline ended with {done.returncode}")
        raise ENDINGS.get(done.returncode, CommandError)(str(message))
    if "damage" in said:
        raise Damaged(
            f"{said['damage']} damaged places of the commit log were skipped",
            hint="`store verify` names each",
        )


def _last_words(text: str) -> dict[str, object]:
    """Return the JSON object in the last line of standard error; the rest is Spark's."""
    last = text.strip().rpartition("\n")[2]
    if not last.startswith("{"):
        return {}
    said: dict[str, object] = json.loads(last)
    return said
