"""The jobs by name: the options of each, how each engine runs it, and what its rows mean.

Rule: an option has a name, a function that reads its text, and perhaps a default. An unknown name
is refused, and the error lists the known ones. To add a job, add a line here and a command in
``mqadmin/commands/pipeline``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pipeline.errors import BadOption
from pipeline.jobs import (
    diff,
    duplicates,
    events,
    extract,
    grep,
    lag,
    rebuild,
    rewind,
    stats,
    timeline,
    trace,
    verify,
)
from storefmt.offline.analyse.events import PAUSE_MS

REQUIRED: Final = "(required)"
Plain = Mapping[str, Any]
"""A row of a job, as in JSON."""


class Option(NamedTuple):
    """An option of a job; ``default`` is a text, ``REQUIRED``, or empty for the value None."""

    read: Callable[[str], Any] = str
    default: str = ""


class Job(NamedTuple):
    """One job.

    Attributes:
        spark: takes a session, ``where``, and the options by name; returns a frame.
        local: the same without a session; returns a ``pyarrow.Table``.
        rows_of: takes the Arrow table of either, and the options; returns rows.
        many: ``where`` is a list of store directories; otherwise it is one directory.
        passes_damage: the job skips damage of the log, so its count is printed.
        exit_code: returns the exit code for the rows.
        steps: says what the job does with ``where``, for jobs that run as soon as they are called;
            empty if the frame has a plan.
    """

    spark: Callable[..., Any]
    local: Callable[..., Any]
    rows_of: Callable[..., Sequence[Any]]
    options: Mapping[str, Option] = {}
    many: bool = False
    passes_damage: bool = True
    exit_code: Callable[[Sequence[Any]], int] = lambda rows: 0
    steps: Callable[[Any], str] = lambda where: ""


DIFFERENT: Final = 1
DAMAGED: Final = 6


def truth(text: str) -> bool:
    """Read ``true`` or ``false``.

    Raises:
        ValueError: the text is neither.
    """
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


JOBS: Final[dict[str, Job]] = {
    "stats": Job(stats.stats, stats.stats_local, stats.rows_of, {"by": Option()}),
    "duplicates": Job(duplicates.duplicates, duplicates.duplicates_local, duplicates.rows_of),
    "lag": Job(
        lag.lag,
        lag.lag_local,
        lag.rows_of,
        {"offsets": Option(lag.older_of)},
        many=True,
    ),
    "grep": Job(
        lambda spark, path, pattern, **_: grep.grep(spark, path, pattern=pattern),
        lambda path, pattern, **_: grep.grep_local(path, pattern=pattern),
        grep.rows_of,
        {"pattern": Option(str, REQUIRED), "mask": Option(truth, "false")},
    ),
    "verify": Job(
        verify.verify,
        verify.verify_local,
        verify.rows_of,
        {"deep": Option(truth, "false")},
        many=True,
        passes_damage=False,
        exit_code=lambda rows: DAMAGED if verify.is_damaged(rows) else 0,
        steps=verify.steps,
    ),
    "rebuild": Job(
        lambda spark, paths, to, index: rebuild.rebuild(
            spark, rebuild.targets_of(paths, to), with_index=index
        ),
        lambda paths, to, index: rebuild.rebuild_local(
            rebuild.targets_of(paths, to), with_index=index
        ),
        lambda table, **_: table.to_pylist(),
        {"to": Option(str, REQUIRED), "index": Option(truth, "true")},
        many=True,
        passes_damage=False,
        exit_code=lambda rows: DAMAGED if rebuild.is_damaged(rows) else 0,
        steps=rebuild.steps,
    ),
    "timeline": Job(
        timeline.timeline,
        timeline.timeline_local,
        timeline.rows_of,
        {
            "every_ms": Option(int),
            "topic": Option(),
            "begin_ms": Option(int),
            "end_ms": Option(int),
        },
    ),
    "events": Job(
        events.events,
        events.events_local,
        events.rows_of,
        {"pause_ms": Option(int, str(PAUSE_MS))},
        steps=events.steps,
    ),
    "extract": Job(
        extract.extract,
        extract.extract_local,
        extract.rows_of,
        {
            "to": Option(str, REQUIRED),
            "kind": Option(str, "parquet"),
            "topics": Option(),
            "tags": Option(),
            "uniq_key": Option(),
            "begin_ms": Option(int),
            "end_ms": Option(int),
            "body": Option(),
        },
        many=True,
        steps=extract.steps,
    ),
    "diff": Job(
        diff.diff,
        diff.diff_local,
        lambda table, **_: table.to_pylist(),
        {"other": Option(str, REQUIRED)},
        passes_damage=False,
        exit_code=lambda rows: DIFFERENT if diff.is_different(list(rows)) else 0,
        steps=diff.steps,
    ),
    "trace": Job(
        trace.trace,
        trace.trace_local,
        trace.rows_of,
        {"key": Option(str, REQUIRED), "topic": Option(), "scan": Option(truth, "false")},
        many=True,
        passes_damage=False,
        steps=trace.steps,
    ),
    "rewind-plan": Job(
        rewind.rewind_plan,
        rewind.rewind_plan_local,
        lambda table, **_: table.to_pylist(),
        {"to_ms": Option(int, REQUIRED), "group": Option(), "topic": Option()},
        many=True,
        passes_damage=False,
    ),
}


def options_of(name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a job's options, with defaults for those that are not given.

    Raises:
        BadOption: an option is unknown or missing, or its text cannot be read.
    """
    job = JOBS[name]
    for option in given:
        if option not in job.options:
            known = ", ".join(job.options) or "none"
            raise BadOption(f"job {name} has no option {option!r}; it has {known}")
    values: dict[str, Any] = {}
    for option, (read, default) in job.options.items():
        text = given.get(option, default)
        if option not in given and default == REQUIRED:
            raise BadOption(f"job {name} needs the option {option}: --option {option}=VALUE")
        try:
            values[option] = read(text) if text or option in given else None
        except ValueError as error:
            raise BadOption(f"option {option} of job {name}: {error}") from error
    return values


def as_plain(row: Any) -> Plain:
    """Return a row as in JSON; ``row`` is a named tuple, or already of that form."""
    fields: Plain = row._asdict() if hasattr(row, "_asdict") else row
    return fields
