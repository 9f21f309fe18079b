"""The options of ``rocketmq_store``, declared once, and the ``ReadOptions`` that they make."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mqspark.errors import BadOption
from mqspark.options import Option, names, number, one_of, size, time_ms, truth, values
from mqspark.places import Storage, is_s3
from mqspark.schemas import COMMITLOG, DAMAGE
from mqspark.sources.store.conditions import Condition, time_of
from mqspark.sources.store.log_tables import check_expression
from mqspark.sources.store.reading import SPLIT_SIZE, ReadOptions, StoreLayout
from mqspark.sources.store.tables import default_columns, schema_of, table_names
from storefmt.arrow.columns import BYTES_MAX, ROWS_MAX

OF: Final = "rocketmq_store"
PATHS: Final = ("path", "paths")
"""What Spark makes of the argument of ``load``."""
_LAYOUTS: Final = {
    StoreLayout.AUTO: tuple(table_names()),
    StoreLayout.FILE: tuple(table_names()),
    StoreLayout.BATCHCQ: ("consumequeue",),
    StoreLayout.DLEDGER: (COMMITLOG, DAMAGE),
}


def _expression(text: str) -> str:
    check_expression(text)
    return text


_WHERE: Final[dict[str, tuple[Option, str, str]]] = {
    option.name: (option, column, test)
    for option, column, test in (
        (
            Option("topics", "reads only these topics, separated by commas", names),
            "topic",
            "in",
        ),
        (
            Option(
                "topicsPattern",
                "reads only topics whose whole name matches this regular expression (RE2)",
                _expression,
            ),
            "topic",
            "matches",
        ),
        (
            Option(
                "startTime",
                "the first store time, as `2026-11-23T10:00:00Z` or in ms since 1970",
                time_ms,
            ),
            "store_timestamp",
            ">=",
        ),
        (Option("endTime", "the last store time", time_ms), "store_timestamp", "<="),
        (Option("startOffset", "the first log offset, in bytes", number(0)), "log_offset", ">="),
        (Option("endOffset", "the log offset to end before", number(0)), "log_offset", "<"),
    )
}
_STORAGE: Final = (
    Option("storage.endpoint", "the URL of an S3 that is not Amazon's", shown="the environment"),
    Option("storage.region", "the region of S3", shown="the environment"),
    Option("storage.anonymous", "reads a public bucket without keys", truth, "false"),
    Option("storage.accessKey", "the key of S3", shown="the environment"),
    Option("storage.secretKey", "the secret of that key", shown="the environment"),
)
_OF_LOG: Final = (*_WHERE, "bodyMatches", "decompress")
"""Options that only the table commitlog has."""
OPTIONS: Final = (
    Option("table", f"one of {', '.join(f'`{name}`' for name in table_names())}", str, COMMITLOG),
    Option(
        "columns",
        "the columns to decode, separated by commas",
        names,
        shown="all but `properties_raw` and, of `files`, `records`",
    ),
    Option(
        "layout",
        "what is read: everything that is there (`auto`); of queues only `file` (`consumequeue/`) "
        "or `batchcq` (`batchconsumequeue/` of 5.x); of a log only `file` (`commitlog/`) or "
        "`dledger` (the Raft log of a DLedger broker, one task for each file)",
        one_of(*(each.value for each in StoreLayout)),
        StoreLayout.AUTO.value,
    ),
    *(option for option, _, _ in _WHERE.values()),
    Option(
        "bodyMatches",
        "reads only messages whose decompressed body has a match of this regular expression (RE2)",
        _expression,
        "",
    ),
    Option(
        "decompress",
        "returns bodies as their producers sent them, and `sys_flag` without the bits of "
        "compression; a body that cannot be decompressed stays as it is, and its flag, too",
        truth,
        "true",
    ),
    Option(
        "checkCrc",
        "checks the CRC of bodies, fills `crc_ok`, and lists bad bodies in `damage`",
        truth,
        "false",
    ),
    Option(
        "onDamage",
        "`fail` ends the job at the first damage; otherwise a damaged checkpoint has null times",
        one_of("skip", "fail"),
        "skip",
    ),
    Option("pushdown", "workers apply Spark's filters before rows leave them", truth, "false"),
    Option(
        "splitBytes",
        "the most bytes that one task reads, also as `256m`; a split lies inside one file",
        size,
        str(SPLIT_SIZE),
        shown="1 GiB",
    ),
    Option("batchRows", "the most rows of one Arrow batch", number(), str(ROWS_MAX)),
    Option(
        "batchBytes",
        "the most bytes of one Arrow batch, also as `8m`; a single record may be larger",
        size,
        str(BYTES_MAX),
        shown="8 MiB",
    ),
    *_STORAGE,
)


def given_values(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the value of every option.

    Raises:
        BadOption: an option is unknown, has an invalid value, or is for another table.
    """
    option_values = values(options, OPTIONS, of=OF, own=PATHS)
    table = option_values["table"]
    default_columns(table)
    for name in _OF_LOG:
        if name in options and table != COMMITLOG and option_values[name] not in ("", False):
            raise BadOption(f"option {name} is for table {COMMITLOG}, not {table}")
    return option_values


def reading_of(options: Mapping[str, str]) -> ReadOptions:
    """Return how the options of a load read a table.

    Raises:
        BadOption: as ``given_values``.
    """
    option_values = given_values(options)
    table, layout = option_values["table"], StoreLayout(option_values["layout"])
    if table not in _LAYOUTS[layout]:
        raise BadOption(
            f"layout {layout.value} has no table {table}; it has {', '.join(_LAYOUTS[layout])}"
        )
    columns = option_values["columns"] or default_columns(table)
    schema_of(table, columns)
    return ReadOptions(
        table=table,
        layout=layout,
        columns=columns,
        split_size=option_values["splitBytes"],
        rows_max=option_values["batchRows"],
        bytes_max=option_values["batchBytes"],
        check_crc=option_values["checkCrc"],
        fail_on_damage=option_values["onDamage"] == "fail",
        where=tuple(
            Condition(column, test, time_of(value) if column == "store_timestamp" else value)
            for name, (_, column, test) in _WHERE.items()
            if (value := option_values[name]) is not None
        ),
        body_matches=option_values["bodyMatches"],
        decompress=option_values["decompress"],
    )


def storage_of(options: Mapping[str, str], paths: Sequence[str]) -> Storage:
    """Return the options for stores on S3.

    Raises:
        BadOption: a store is not on S3, or options contradict each other.
    """
    given = [option.name for option in _STORAGE if option.name in options]
    elsewhere = [path for path in paths if not is_s3(path)]
    if given and elsewhere:
        raise BadOption(f"option {given[0]} is for a store on s3://, not for {elsewhere[0]}")
    option_values = given_values(options)
    endpoint, region, anonymous, *keys = (option_values[option.name] for option in _STORAGE)
    if bool(keys[0]) != bool(keys[1]):
        raise BadOption("options storage.accessKey and storage.secretKey go together")
    if anonymous and keys[0]:
        raise BadOption("options storage.anonymous and storage.accessKey contradict each other")
    if endpoint and "://" not in endpoint:
        raise BadOption(f"option storage.endpoint is {endpoint!r}, expected http://HOST:PORT")
    return Storage(endpoint or "", region or "", anonymous, keys[0] or "", keys[1] or "")
