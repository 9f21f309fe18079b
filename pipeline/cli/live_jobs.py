"""``python -m pipeline.cli.live_jobs JOB PLACE``: the jobs that make, keep and restore archives.

What ``mqadmin pipeline archive`` and ``… restore`` start, and what spark-submit may be given;
words and lines are those of ``pipeline.cli.process``. A row of an archive is printed once its file
counts.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from mqclient.errors import ClientError
from pipeline.archive.archive import opened
from pipeline.archive.restore_log import FILE_SIZE, plan_log
from pipeline.cli.process import (
    check_file,
    ended,
    given_options,
    parser_of,
    say,
    told,
    write_parquet,
)
from pipeline.errors import BadOption, PipelineError
from pipeline.jobs.archive import Archived, archiving, here, on_spark, outlook
from pipeline.jobs.maintain import (
    Compacted,
    DeletedFile,
    Expired,
    clean,
    clean_outlook,
    compact,
    compact_outlook,
    expire,
    expire_outlook,
)
from pipeline.jobs.restore import Restored, restore_store, restore_topic
from pipeline.sessions import session
from storefmt.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DESCRIPTION: Final = (
    "Archive what live topics have into Parquet files, restore an archive into a topic or a new "
    "store directory, or compact, expire or clean its files. Prints a row for each file or topic "
    "as a line of JSON, once it is complete."
)
_Printed = Archived | Restored | Compacted | Expired | DeletedFile
Job = tuple[
    Callable[[str, Mapping[str, str]], str],
    Callable[[str, Mapping[str, str], "SparkSession | None"], Iterable[_Printed]],
]
"""A function that returns what a job would do, and one that does it."""
_OWN: Final = ("store", "topics", "broker", "fileSize", "keepQueues")
"""The options of a restore that are not those of the sink."""
_SECRETS: Final = {
    "accessKey": "MQADMIN_ACCESS_KEY",
    "secretKey": "MQADMIN_SECRET_KEY",
    "tlsKeyPassword": "MQADMIN_TLS_KEY_PASSWORD",
}
"""Options that come from the environment, because everybody can see the arguments of a process."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one job and return the exit code."""
    parser = parser_of("python -m pipeline.cli.live_jobs", DESCRIPTION, tuple(_JOBS))
    parser.add_argument("place", help="the archive: a directory, or a URI as s3://bucket/name")
    options = parser.parse_args(argv)
    return ended(
        lambda: _run(options, _given(options)),
        known=(PipelineError, ClientError, StoreError, OSError),
    )


def _given(options: argparse.Namespace) -> dict[str, str]:
    found = given_options(options)
    if "namesrv" in found:
        known = {name: os.environ[key] for name, key in _SECRETS.items() if os.environ.get(key)}
        # If the arguments have a key, its secret is there too, whatever the environment has.
        found = (known if "accessKey" not in found else {}) | found
    return found


def _run(options: argparse.Namespace, given: Mapping[str, str]) -> None:
    check_file(options.parquet)
    outlook_of, run = _JOBS[options.job]
    if options.explain or options.dry_run:
        say({"plan": outlook_of(options.place, given)})
    if options.dry_run:
        return
    spark = session(options.master, page=True) if options.engine == "spark" else None
    if spark is None:
        _print(run(options.place, given, spark), options.parquet)
        return
    with told(spark):
        _print(run(options.place, given, spark), options.parquet)


def _archive(
    place: str, given: Mapping[str, str], spark: "SparkSession | None"
) -> Iterator[Archived]:
    kind, own = _kind(given)
    return archiving(place, own, write=here if spark is None else on_spark(spark), kind=kind)


def _archive_outlook(place: str, given: Mapping[str, str]) -> str:
    kind, own = _kind(given)
    return outlook(place, own, kind=kind)


def _kind(given: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
    """Return the format of an archive, and the other options."""
    return given.get("format"), {name: given[name] for name in given if name != "format"}


def _compact(
    place: str, given: Mapping[str, str], spark: "SparkSession | None"
) -> Iterator[Compacted]:
    _known(given, "topics")
    return compact(place, topics=_topics(given), spark=spark)


def _compact_outlook(place: str, given: Mapping[str, str]) -> str:
    _known(given, "topics")
    return compact_outlook(place, topics=_topics(given))


def _expire(place: str, given: Mapping[str, str], _: "SparkSession | None") -> list[Expired]:
    _known(given, "topics", "before")
    return expire(place, before_ms=_before_ms(given), topics=_topics(given))


def _expire_outlook(place: str, given: Mapping[str, str]) -> str:
    _known(given, "topics", "before")
    return expire_outlook(place, before_ms=_before_ms(given), topics=_topics(given))


def _clean(place: str, given: Mapping[str, str], _: "SparkSession | None") -> list[DeletedFile]:
    _known(given, "before")
    return clean(place, before_ms=_before_ms(given))


def _clean_outlook(place: str, given: Mapping[str, str]) -> str:
    _known(given, "before")
    return clean_outlook(place, before_ms=_before_ms(given))


def _known(given: Mapping[str, str], *names: str) -> None:
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise BadOption(f"there is no option {unknown[0]!r}; there are {', '.join(names)}")


def _before_ms(given: Mapping[str, str]) -> int:
    text = given.get("before", "")
    if not text.isdecimal():
        raise BadOption(f"option before is {text!r}, expected epoch ms")
    return int(text)


def _restore(
    place: str, given: Mapping[str, str], spark: "SparkSession | None"
) -> Iterator[Restored]:
    own, sink = _split(given)
    topics = _topics(own)
    if "store" in own:
        if "keepQueues" in own or sink:
            raise BadOption(f"a store takes no option {next(iter(sink), 'keepQueues')}")
        yield from restore_store(
            place,
            own["store"],
            topics=topics,
            broker=own.get("broker"),
            file_size=_file_size(own),
            spark=spark,
        )
        return
    if "fileSize" in own or "broker" in own:
        raise BadOption("options fileSize and broker are for a restore to a store")
    keep = own.get("keepQueues", "false") == "true"
    yield from restore_topic(place, sink, topics=topics, keep_queues=keep, spark=spark)


def _restore_outlook(place: str, given: Mapping[str, str]) -> str:
    own, _ = _split(given)
    archive, topics = opened(place), _topics(own)
    files = archive.files(topics=topics)
    rows = sum(file.rows for file in files)
    text = f"restore: {rows} messages in {len(files)} files of {archive.commit_count} commits"
    if "store" in own:
        plan = plan_log(archive, topics=topics, broker=own.get("broker"), file_size=_file_size(own))
        text += f", into {len(plan.parts)} commit log files"
    return text


def _split(given: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    own = {name: value for name, value in given.items() if name in _OWN}
    return own, {name: value for name, value in given.items() if name not in _OWN}


def _topics(own: Mapping[str, str]) -> list[str] | None:
    return own["topics"].split(",") if "topics" in own else None


def _file_size(own: Mapping[str, str]) -> int:
    text = own.get("fileSize", str(FILE_SIZE))
    if not text.isdecimal() or int(text) < 1:
        raise BadOption(f"option fileSize is {text!r}, expected bytes")
    return int(text)


_JOBS: Final[Mapping[str, Job]] = {
    "archive": (_archive_outlook, _archive),
    "restore": (_restore_outlook, _restore),
    "compact": (_compact_outlook, _compact),
    "expire": (_expire_outlook, _expire),
    "clean": (_clean_outlook, _clean),
}


def _print(rows: Iterable[_Printed], parquet: Path | None) -> None:
    kept = []
    for row in rows:
        print(json.dumps(row._asdict()), flush=True)
        if parquet is not None:
            kept.append(row._asdict())
    if parquet is not None:
        write_parquet(pa.Table.from_pylist(kept), parquet)


if __name__ == "__main__":
    sys.exit(main())
