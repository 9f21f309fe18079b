"""``pipeline extract``: messages of one store, or of many, into files."""

from dataclasses import dataclass
from typing import Annotated, Literal

from mqadmin.call import Call
from mqadmin.parameters import Kind, option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from mqadmin.sparkjob import MORE_STORES, Engine, run_job
from mqadmin.storedtime import STORED_FROM, STORED_TO, bound_ms
from mqadmin.times import When


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """Which messages, where to, and where it runs."""

    more: Annotated[tuple[str, ...], MORE_STORES] = ()
    to: Annotated[str, option("new directory for the files", kind=Kind.DIR)]
    format: Annotated[
        Literal["parquet", "jsonl", "files"], option("what to write; files: a body a file")
    ] = "parquet"
    topic: Annotated[tuple[str, ...], option("of one of these topics", kind=Kind.TOPIC)] = ()
    tag: Annotated[tuple[str, ...], option("with one of these tags")] = ()
    key: Annotated[str | None, option("with this unique key", short="k")] = None
    from_: Annotated[When | None, STORED_FROM] = None
    until: Annotated[When | None, STORED_TO] = None
    body: Annotated[str | None, option("whose body has a match of this", metavar="REGEX")] = None


@dataclass(frozen=True, slots=True)
class ExtractedFileRow(Row):
    """One file of the manifest; with ``files`` one directory of a topic."""

    file: str
    store: str
    topic: str
    rows: int
    first_log_offset: int
    last_log_offset: int
    bytes: int
    crc32: str


@command(
    "pipeline extract",
    "write the messages of stores to files, on Spark",
    details=(
        "Parquet and jsonl come in one file for each topic of each part of a log, below "
        "topic=NAME; bodies are as they are stored. manifest.jsonl in the new directory says "
        "what is where."
    ),
    examples=(
        (
            "mqadmin pipeline extract /data/store --to /data/orders --topic orders",
            "one topic as Parquet",
        ),
        (
            "mqadmin pipeline extract /data/store --to /data/hits --body 'card [0-9]{16}' "
            "--format jsonl",
            "what should not be there",
        ),
    ),
    rows=ExtractedFileRow,
    columns=("file", "rows", "bytes", "crc32"),
    needs=Needs.STORE,
)
def extract_messages(call: Call, args: Arguments) -> Outcome:
    """Return one row a file.

    Raises:
        BadCall: the new directory is not empty, or lies in a store.
    """
    now_ms = call.now_ms()
    options = {
        "to": args.to,
        "kind": args.format,
        "topics": ",".join(args.topic) or None,
        "tags": ",".join(args.tag) or None,
        "uniq_key": args.key,
        "begin_ms": bound_ms(args.from_, now_ms),
        "end_ms": bound_ms(args.until, now_ms),
        "body": args.body,
    }
    return run_job(
        call, "extract", args, row=ExtractedFileRow, options=options, more_stores=args.more
    )
