"""``pipeline duplicates``: find messages that were sent more than once."""

from dataclasses import dataclass

from mqadmin.cli.declare import Call, EpochMs, Needs, Outcome, Row, command
from mqadmin.store_access.spark_job import Engine, of_stores_job, run_job


@dataclass(frozen=True, slots=True)
class DuplicateRow(Row):
    """One unique key with more than one record.

    Offsets are bytes of the commit log, null where several stores have it.
    """

    topic: str
    unique_key: str
    copies: int
    stores: tuple[str, ...]
    first_log_offset: int | None
    last_log_offset: int | None
    first_stored_ms: EpochMs
    last_stored_ms: EpochMs


@command(
    "pipeline duplicates",
    details="A producer gives each message a unique key, so two records of a topic with the same "
    "key are one message that was sent again. Retries, delayed and half messages are not "
    "counted, because the broker itself stores such a message again under another topic.",
    examples=(
        ("mqadmin pipeline duplicates /data/store", "on this machine's cores"),
        ("mqadmin pipeline duplicates /data/store --engine local", "without Spark"),
    ),
    rows=DuplicateRow,
    columns=("topic", "unique_key", "copies", "first_stored_time", "last_stored_time"),
    needs=Needs.STORE,
)
@of_stores_job
def find_duplicates(call: Call, *, where: Engine) -> Outcome:
    """Return one row for each key that has copies, the most copies first."""
    return run_job(call, "duplicates", where, row=DuplicateRow)
