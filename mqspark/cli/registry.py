"""The jobs by name: the options of each, how each engine runs it, and what its rows mean.

To add a job, add a line here and a command in ``mqadmin/commands/pipeline``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mqspark.jobs import (
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
    views,
)
from mqspark.options import REQUIRED, Option, number, truth, values
from storefmt.offline.analyse.events import PAUSE_MS


class Job(NamedTuple):
    """One job.

    Attributes:
        spark: takes a session, the stores, and the options by name; returns a frame.
        local: the same without a session; returns a ``pyarrow.Table``.
        rows_of: takes the Arrow table of either, and the options; returns rows, by default those
            of the table.
        passes_damage: the job skips damage of the log, so its count is printed.
        exit_code: returns the exit code for the rows.
        steps: says what the job does with the stores, for jobs that run as soon as they are called;
            empty if the frame has a plan.
    """

    spark: Callable[..., Any]
    local: Callable[..., Any]
    rows_of: Callable[..., Sequence[Any]] = lambda table, **_: table.to_pylist()
    options: tuple[Option, ...] = ()
    passes_damage: bool = True
    exit_code: Callable[[Sequence[Any]], int] = lambda rows: 0
    steps: Callable[[Sequence[str]], str] = lambda paths: ""


DIFFERENT: Final = 1
DAMAGED: Final = 6


_FROM: Final = Option("begin_ms", "the first store time that counts, in ms since 1970", number(0))
_TO: Final = Option("end_ms", "the last store time that counts, in ms since 1970", number(0))

JOBS: Final[dict[str, Job]] = {
    "stats": Job(
        stats.stats,
        stats.stats_local,
        stats.rows_of,
        (Option("by", f"counts also by one of {', '.join(stats.WAYS)}"),),
    ),
    "duplicates": Job(duplicates.duplicates, duplicates.duplicates_local, duplicates.rows_of),
    "lag": Job(
        lag.lag,
        lag.lag_local,
        lag.rows_of,
        (
            Option(
                "offsets", "older copies of consumerOffset.json, each with its time", lag.older_of
            ),
        ),
    ),
    "grep": Job(
        lambda spark, paths, pattern, **_: grep.grep(spark, paths, pattern=pattern),
        lambda paths, pattern, **_: grep.grep_local(paths, pattern=pattern),
        grep.rows_of,
        (
            Option("pattern", "a regular expression (RE2)", str, REQUIRED),
            Option("mask", "excerpts have `***` for whatever matches", truth, "false"),
        ),
    ),
    "verify": Job(
        verify.verify,
        verify.verify_local,
        options=(Option("deep", "also decompresses bodies and checks the index", truth, "false"),),
        passes_damage=False,
        exit_code=lambda rows: DAMAGED if verify.is_damaged(rows) else 0,
    ),
    "rebuild": Job(
        lambda spark, paths, to, index: rebuild.rebuild(
            spark, rebuild.targets_of(paths, to), with_index=index
        ),
        lambda paths, to, index: rebuild.rebuild_local(
            rebuild.targets_of(paths, to), with_index=index
        ),
        options=(
            Option("to", "the directory to write to", str, REQUIRED),
            Option("index", "also builds the index", truth, "true"),
        ),
        passes_damage=False,
        exit_code=lambda rows: DAMAGED if rebuild.is_damaged(rows) else 0,
        steps=rebuild.steps,
    ),
    "timeline": Job(
        timeline.timeline,
        timeline.timeline_local,
        timeline.rows_of,
        (
            Option("every_ms", "the length of a span; by default some sixty spans", number()),
            Option("topic", "only this topic"),
            _FROM,
            _TO,
        ),
    ),
    "events": Job(
        events.events,
        events.events_local,
        options=(Option("pause_ms", "the shortest pause", number(0), str(PAUSE_MS)),),
        steps=events.steps,
    ),
    "extract": Job(
        extract.extract,
        extract.extract_local,
        extract.rows_of,
        (
            Option("to", "a new directory", str, REQUIRED),
            Option("kind", f"one of {', '.join(extract.FORMATS)}", str, "parquet"),
            Option("topics", "only these topics, separated by commas"),
            Option("tags", "only these tags, separated by commas"),
            Option("unique_key", "only the messages of this unique key"),
            _FROM,
            _TO,
            Option("body", "only bodies with a match of this regular expression (RE2)"),
        ),
    ),
    "diff": Job(
        lambda spark, paths: diff.diff(spark, paths[0], other=paths[1:]),
        lambda paths: diff.diff_local(paths[0], other=paths[1:]),
        passes_damage=False,
        exit_code=lambda rows: DIFFERENT if diff.is_different(list(rows)) else 0,
        steps=diff.steps,
    ),
    "trace": Job(
        trace.trace,
        trace.trace_local,
        trace.rows_of,
        (
            Option(
                "key", "an offset id, a unique key or a key; several with commas", str, REQUIRED
            ),
            Option("topic", "only messages that were sent to this topic"),
            Option("scan", "reads whole logs, whatever the indexes say", truth, "false"),
        ),
        passes_damage=False,
        steps=trace.steps,
    ),
    "rewind-plan": Job(
        rewind.rewind_plan,
        rewind.rewind_plan_local,
        options=(
            Option("to_ms", "the store time to move to, in ms since 1970", number(0), REQUIRED),
            Option("group", "only this group"),
            Option("topic", "only this topic"),
        ),
        passes_damage=False,
    ),
    "views": Job(
        views.views,
        views.views_local,
        options=(Option("prefix", "how the names of the views begin", str, ""),),
        passes_damage=False,
        steps=lambda paths: "create a temporary view for each table",
    ),
}


def options_of(name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a job's options, with defaults for those that are not given.

    Raises:
        BadOption: an option is unknown or missing, or its text cannot be read.
    """
    return values(given, JOBS[name].options, of=f"job {name}")
