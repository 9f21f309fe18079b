"""``pipeline duplicates``: messages that a producer sent more than once."""

from dataclasses import dataclass

from mqadmin.cli.declare import Needs, command
from mqadmin.output.rows import EpochMs, Outcome, Row
from mqadmin.session.call import Call
from mqadmin.store.spark_job import Engine, engine_options, run_job


@dataclass(frozen=True, slots=True)
class DuplicateRow(Row):
    """One unique key with more than one record; offsets are bytes of the commit log."""

    topic: str
    uniq_key: str
    copies: int
    first_offset: int
    last_offset: int
    first_stored_ms: EpochMs
    last_stored_ms: EpochMs


@command(
    "pipeline duplicates",
    details="A producer gives each message one unique key, so two records of a topic with one key "
    "are a send that was tried again. Retries, delayed and half messages are not counted: "
    "there the broker itself stores a message again, under another topic.",
    examples=(
        ("mqadmin pipeline duplicates /data/store", "on this machine's cores"),
        ("mqadmin pipeline duplicates /data/store --engine local", "without Spark"),
    ),
    rows=DuplicateRow,
    columns=("topic", "uniq_key", "copies", "first_stored_time", "last_stored_time"),
    needs=Needs.STORE,
)
@engine_options
def find_duplicates(call: Call, *, where: Engine) -> Outcome:
    """Return one row a key that has copies, the most copies first."""
    return run_job(call, "duplicates", where, row=DuplicateRow)
