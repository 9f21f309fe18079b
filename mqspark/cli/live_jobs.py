"""``python -m mqspark.cli.live_jobs JOB PLACE``: the jobs that make, keep and restore archives.

What ``mqadmin pipeline archive`` and ``… restore`` start, and what spark-submit may be given;
words and lines are those of ``mqspark.cli.process``. A row of an archive is printed once its file
counts.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from mqclient.errors import ClientError
from mqspark.archive.archive import opened
from mqspark.archive.restore_log import FILE_SIZE, plan_log
from mqspark.cli.process import (
    LOCAL,
    arguments_of,
    check_file,
    given_options,
    parser_of,
    print_message,
    run_to_end,
    show_progress,
    started_spark,
    write_parquet,
)
from mqspark.errors import BadOption, PipelineError
from mqspark.jobs.archive import Archived, archiving, explain_archive, write_here, write_on_spark
from mqspark.jobs.maintain import (
    Compacted,
    DeletedFile,
    Expired,
    clean,
    compact,
    expire,
    explain_clean,
    explain_compact,
    explain_expire,
)
from mqspark.jobs.restore import Restored, restore_store, restore_topic
from mqspark.options import REQUIRED, Option, names, number, size, truth, values
from storefmt.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DESCRIPTION: Final = (
    "Archive what live topics have into Parquet files, restore an archive into a topic or a new "
    "store directory, or compact, expire or clean its files. Prints a row for each file or topic "
    "as a line of JSON, once it is complete."
)
_Printed = Archived | Restored | Compacted | Expired | DeletedFile
LiveJob = tuple[
    Callable[[str, Mapping[str, str]], str],
    Callable[[str, Mapping[str, str], "SparkSession | None"], Iterable[_Printed]],
]
"""A function that returns what a job would do, and one that does it."""
_TOPICS: Final = Option("topics", "only these topics, separated by commas", names)
_DECOMPRESS: Final = Option(
    "decompress", "writes bodies that are compressed as they were sent", truth, "true"
)
_BEFORE: Final = Option("before", "a time, in ms since 1970", number(0), REQUIRED)
_RESTORE: Final = (
    Option("store", "the store directory to make"),
    _TOPICS,
    Option("broker", "the broker whose messages are restored to a store"),
    Option("fileSize", "the bytes of a commit log file, also as `1g`", size, str(FILE_SIZE)),
    Option("keepQueues", "sends to the queues of the same numbers", truth, "false"),
)
"""The options of a restore that are not those of the sink."""
_SECRETS: Final = {
    "accessKey": "MQADMIN_ACCESS_KEY",
    "secretKey": "MQADMIN_SECRET_KEY",
    "tlsKeyPassword": "MQADMIN_TLS_KEY_PASSWORD",
}
"""Options that come from the environment, because everybody can see the arguments of a process."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one job and return the exit code."""
    parser = parser_of("python -m mqspark.cli.live_jobs", DESCRIPTION, tuple(JOBS))
    parser.add_argument("place", help="the archive: a directory, or a URI as s3://bucket/name")
    options = arguments_of(parser, argv)
    return run_to_end(
        lambda: _run_job(options, _given(options)),
        expected=(PipelineError, ClientError, StoreError, OSError),
    )


def _given(options: argparse.Namespace) -> dict[str, str]:
    options_given = given_options(options)
    if "namesrv" in options_given:
        secrets = {name: os.environ[key] for name, key in _SECRETS.items() if os.environ.get(key)}
        # If the arguments have a key, its secret is there too, whatever the environment has.
        options_given = (secrets if "accessKey" not in options_given else {}) | options_given
    return options_given


def _run_job(options: argparse.Namespace, given: Mapping[str, str]) -> None:
    check_file(options.parquet)
    explain, run = JOBS[options.job]
    if options.explain or options.dry_run:
        print_message({"plan": explain(options.place, given)})
    if options.dry_run:
        return
    if options.engine == LOCAL:
        _print(run(options.place, given, None), options.parquet)
        return
    with started_spark(options.master) as spark, show_progress(spark):
        _print(run(options.place, given, spark), options.parquet)


def _archive(
    place: str, given: Mapping[str, str], spark: "SparkSession | None"
) -> Iterator[Archived]:
    kind, own = _kind(given)
    return archiving(
        place, own, write=write_here if spark is None else write_on_spark(spark), kind=kind
    )


def _explain_archive(place: str, given: Mapping[str, str]) -> str:
    kind, own = _kind(given)
    return explain_archive(place, own, kind=kind)


def _kind(given: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
    """Return the format of an archive, and the other options."""
    return given.get("format"), {name: given[name] for name in given if name != "format"}


def _upkeep(given: Mapping[str, str], *options: Option) -> dict[str, Any]:
    """Return the options of a job of upkeep as its keyword arguments."""
    arguments = values(given, options, of="the job")
    if "before" in arguments:
        arguments["before_ms"] = arguments.pop("before")
    return arguments


def _restore(place: str, given: Mapping[str, str], spark: "SparkSession | None") -> list[Restored]:
    own, sink = _split(given)
    topics = own["topics"]
    if own["store"] is not None:
        if "keepQueues" in given or sink:
            raise BadOption(f"a store takes no option {next(iter(sink), 'keepQueues')}")
        return restore_store(
            place,
            own["store"],
            topics=topics,
            broker=own["broker"],
            file_size=own["fileSize"],
            spark=spark,
        )
    if "fileSize" in given or "broker" in given:
        raise BadOption("options fileSize and broker are for a restore to a store")
    return restore_topic(place, sink, topics=topics, keep_queues=own["keepQueues"], spark=spark)


def _explain_restore(place: str, given: Mapping[str, str]) -> str:
    own, _ = _split(given)
    archive, topics = opened(place), own["topics"]
    files = archive.files(topics=topics)
    rows = sum(file.rows for file in files)
    text = f"restore: {rows} messages in {len(files)} files of {archive.commit_count} commits"
    if own["store"] is not None:
        plan = plan_log(archive, topics=topics, broker=own["broker"], file_size=own["fileSize"])
        text += f", into {len(plan.parts)} commit log files"
    return text


def _split(given: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of the options of a restore, and the options of the sink."""
    names_ = {option.name for option in _RESTORE}
    own = {name: text for name, text in given.items() if name in names_}
    sink = {name: text for name, text in given.items() if name not in names_}
    return values(own, _RESTORE, of="the job"), sink


JOBS: Final[Mapping[str, LiveJob]] = {
    "archive": (_explain_archive, _archive),
    "restore": (_explain_restore, _restore),
    "compact": (
        lambda place, given: explain_compact(place, **_upkeep(given, _TOPICS, _DECOMPRESS)),
        lambda place, given, spark: compact(
            place, spark=spark, **_upkeep(given, _TOPICS, _DECOMPRESS)
        ),
    ),
    "expire": (
        lambda place, given: explain_expire(place, **_upkeep(given, _TOPICS, _BEFORE)),
        lambda place, given, _: expire(place, **_upkeep(given, _TOPICS, _BEFORE)),
    ),
    "clean": (
        lambda place, given: explain_clean(place, **_upkeep(given, _BEFORE)),
        lambda place, given, _: clean(place, **_upkeep(given, _BEFORE)),
    ),
}


def _print(rows: Iterable[_Printed], parquet: Path | None) -> None:
    kept = []
    for row in rows:
        kept.append(row._asdict())
        print(json.dumps(kept[-1]), flush=True)
    if parquet is not None:
        write_parquet(pa.Table.from_pylist(kept), parquet)


if __name__ == "__main__":
    sys.exit(main())
