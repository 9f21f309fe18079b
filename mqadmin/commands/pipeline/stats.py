"""``pipeline stats``: messages and bytes of a store by topic and hour.

Starts ``python -m pipeline`` and reads its JSON lines: the command line never imports Spark.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from mqadmin.call import Call
from mqadmin.errors import CommandError, Damaged, NotFound, Usage
from mqadmin.parameters import option
from mqadmin.registry import Needs, command
from mqadmin.rows import EpochMs, Outcome, Row

ENDINGS: dict[int, type[CommandError]] = {2: Usage, 3: NotFound}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Where it runs."""

    engine: Annotated[
        Literal["spark", "local"],
        option("spark, or local: the same rows counted in one process, without Java"),
    ] = "spark"
    master: Annotated[str, option("Spark's master, as local[2] or spark://HOST:PORT")] = "local[*]"


@dataclass(frozen=True, slots=True)
class TopicHourRow(Row):
    """What was stored of one topic within one hour."""

    topic: str
    hour_ms: EpochMs
    messages: int
    bytes: int


@command(
    "pipeline stats",
    "count messages and bytes by topic and hour, on Spark",
    details=(
        "The hour is that of the store time, in UTC. Spark takes about ten seconds before its "
        "first row; below some 20 GiB on one machine --engine local is done before that."
    ),
    examples=(
        ("mqadmin pipeline stats /data/store", "on this machine's cores"),
        ("mqadmin pipeline stats /data/store --engine local -o csv", "without Spark"),
        ("mqadmin pipeline stats /mnt/store --master spark://host:7077", "on a cluster"),
    ),
    rows=TopicHourRow,
    columns=("topic", "hour_time", "messages", "bytes"),
    needs=Needs.STORE,
)
def count_by_hour(call: Call, args: Arguments) -> Outcome:
    """Return one row a topic and hour, sorted by both."""
    line = [sys.executable, "-m", "pipeline", "stats", str(call.store_dir)]
    return Outcome(_rows([*line, "--engine", args.engine, "--master", args.master]))


def _rows(line: list[str]) -> Iterator[TopicHourRow]:
    """Yield the rows of the process; its error, or the damage it met, is raised at the end."""
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    for text in done.stdout.splitlines():
        yield TopicHourRow(**json.loads(text))
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
