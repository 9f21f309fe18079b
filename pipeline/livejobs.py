"""``python -m pipeline.livejobs archive|restore PLACE``: the jobs that talk to live brokers.

What ``mqadmin pipeline archive`` and ``… restore`` start, and what spark-submit may be given;
standard output and standard error are as those of ``python -m pipeline``. A row of an archive is
printed once its file counts.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from mqclient.errors import ClientError
from pipeline.archive import opened
from pipeline.errors import BadOption, PipelineError
from pipeline.jobs.archive import Archived, archiving, here, on_spark, outlook
from pipeline.jobs.restore import Restored, restore_store, restore_topic
from pipeline.restorelog import FILE_SIZE, plan_log
from pipeline.session import session
from pipeline.watching import cause_of, page_of, watched
from storefmt.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINES: Final = ("spark", "local")
_OWN: Final = ("store", "topics", "broker", "fileSize", "keepQueues")
"""Options of a restore that are not the sink's."""
_SECRETS: Final = {"accessKey": "MQADMIN_ACCESS_KEY", "secretKey": "MQADMIN_SECRET_KEY"}
"""Options that come from the environment, because the words of a process are for all to see."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one job and return the exit code."""
    options = _parser().parse_args(argv)
    given = dict(text.partition("=")[::2] for text in options.option)
    if "namesrv" in given and "accessKey" not in given:
        given |= {name: os.environ[key] for name, key in _SECRETS.items() if os.environ.get(key)}
    try:
        _run(options, given)
    except (PipelineError, ClientError, StoreError, OSError) as error:
        _say({"error": str(error)})
        return int(getattr(error, "exit_code", 1))
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        _say({"error": cause_of(error)})
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pipeline.livejobs", description=__doc__)
    parser.add_argument("job", choices=("archive", "restore"))
    parser.add_argument("place", help="the archive: a directory, or a URI as s3://bucket/name")
    parser.add_argument("--engine", choices=ENGINES, default="spark")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--explain", action="store_true", help="tell the plan, then run it")
    parser.add_argument("--dry-run", action="store_true", help="run nothing")
    parser.add_argument("--parquet", type=Path, help="also write the rows to this file")
    return parser


def _run(options: argparse.Namespace, given: Mapping[str, str]) -> None:
    if options.explain or options.dry_run:
        tells = outlook if options.job == "archive" else _restore_outlook
        _say({"plan": tells(options.place, given)})
    if options.dry_run:
        return
    spark = session(options.master, page=True) if options.engine == "spark" else None
    run = _archive if options.job == "archive" else _restore
    if spark is None:
        _print(run(options.place, given, spark), options.parquet)
        return
    if page := page_of(spark):
        _say({"ui": page})
    with watched(spark, lambda done, total: _say({"progress": [done, total]})):
        _print(run(options.place, given, spark), options.parquet)


def _archive(
    place: str, given: Mapping[str, str], spark: "SparkSession | None"
) -> Iterator[Archived]:
    return archiving(place, given, write=here if spark is None else on_spark(spark))


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


def _print(rows: Iterable[Archived | Restored], parquet: Path | None) -> None:
    kept = []
    for row in rows:
        print(json.dumps(row._asdict()), flush=True)
        if parquet is not None:
            kept.append(row._asdict())
    if parquet is not None:
        pq.write_table(pa.Table.from_pylist(kept), parquet, compression="zstd")


def _say(what: dict[str, object]) -> None:
    print(json.dumps(what), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
