"""``pipeline verify``: look for damage in one store, or in those of a whole fleet."""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

from mqadmin.call import Call
from mqadmin.parameters import option
from mqadmin.registry import Needs, command
from mqadmin.rows import Outcome, Row
from mqadmin.sparkjob import MORE_STORES, Engine, run_job
from mqadmin.storerows import FindingRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments(Engine):
    """Which stores, how closely, and where it runs."""

    more: Annotated[tuple[str, ...], MORE_STORES] = ()
    deep: Annotated[bool, option("also decompress bodies, and hold the index against the log")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReportRow(Row):
    """What was found in one store; ``findings`` are those of ``store verify``."""

    store: str
    ok: bool
    files: int
    records: int
    bytes: int
    seconds: float
    errors: int
    warnings: int
    findings: tuple[FindingRow, ...]


def _row(*, findings: list[dict[str, Any]], **known: Any) -> StoreReportRow:
    found = tuple(FindingRow(**each) for each in findings)
    counts = Counter(each.severity for each in found)
    return StoreReportRow(
        **known, errors=counts["error"], warnings=counts["warning"], findings=found
    )


@command(
    "pipeline verify",
    "look for damage in stores, on Spark",
    details=(
        "The report of each store is that of `store verify`. One store is cut into pieces that "
        "workers judge; of many stores each is one task, so that a cluster verifies a fleet. "
        "-o json has the findings. The exit code is 6 with any error or warning."
    ),
    examples=(
        ("mqadmin pipeline verify /data/store", "one store, on this machine's cores"),
        (
            "mqadmin pipeline verify /mnt/a/store /mnt/b/store --master spark://host:7077 -o json",
            "two stores, on a cluster",
        ),
    ),
    rows=StoreReportRow,
    columns=("store", "ok", "files", "records", "bytes", "seconds", "errors", "warnings"),
    needs=Needs.STORE,
)
def verify_stores(call: Call, args: Arguments) -> Outcome:
    """Return one row a store.

    Raises:
        NotAStore: a directory is no store.
    """
    options = {"deep": "true"} if args.deep else {}
    return run_job(call, "verify", args, row=_row, options=options, more_stores=args.more)
