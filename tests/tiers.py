"""Which tests `make test` runs, which `make test-full` adds, and which only `make soak` runs.

    short   what no line of LONG names: minutes on two cores
    full    what a line of LONG names, and further seeds: half an hour more
    soak    what is marked ``soak``: hours

Rule: a test is in exactly one tier. `make test-full` runs the short tier and then the full one,
so that nothing runs twice. The short tier keeps a few tests of each kind that is long, so that
`make test` has asked a real Java client, a real Java broker and Spark, too.
"""

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final, NamedTuple

SHORT_SEEDS: Final = 2
"""Of a test with an argument ``seed`` so many cases are in the short tier."""
FURTHER_SEEDS: Final = "further seeds of random tests"
SOAKS: Final = "runs of hours"


class Tier(Enum):
    """A tier: the command that runs it, and the expression by which pytest selects it."""

    SHORT = ("make test", "not full and not soak")
    FULL = ("make test-full", "full and not soak")
    SOAK = ("make soak", "soak")

    @property
    def command(self) -> str:
        """What a person types."""
        return self.value[0]

    @property
    def expression(self) -> str:
        """What the Makefile gives to ``pytest -m``."""
        return self.value[1]


class Long(NamedTuple):
    """Tests that take long.

    Attributes:
        where: a folder (with its slash), a file, or a function of a file.
        what: how they are called where they are left out.
        mark: if not empty, only the tests with this marker.
        short: files and functions that are in the short tier all the same.
    """

    where: str
    what: str
    mark: str = ""
    short: tuple[str, ...] = ()


LONG: Final = (
    Long(
        "tests/interop/",
        "tests beside the real RocketMQ",
        short=(
            "tests/interop/test_allocate_vectors.py",
            "tests/interop/test_java_clients.py::test_batch_arrives_whole_and_in_order",
            "tests/interop/test_java_clients.py::test_orderly_consumers_keep_the_order_of_each_queue",
            "tests/interop/test_java_clients.py::test_pull_gives_back_what_was_sent_in_order",
            "tests/interop/test_javabuild.py",
            "tests/interop/test_our_client.py",
            "tests/interop/test_store_continued.py::"
            "test_we_continue_a_store_of_5_where_the_real_one_ends_at_the_first_new_record",
            "tests/interop/test_toolbox.py",
        ),
    ),
    Long(
        "tests/",
        "tests with Spark",
        mark="spark",
        short=(
            "tests/pipeline/jobs/test_timeline.py",
            "tests/pipeline/test_live_source.py::test_live_rows_equal_the_rows_of_the_store",
            "tests/pipeline/test_store_source.py::test_a_row_a_message_equal_to_what_java_decoded",
        ),
    ),
)


class Place(NamedTuple):
    """The tier of one test, and what kind of tests it is left out with."""

    tier: Tier
    what: str


def place_of(node_id: str, marks: Collection[str], arguments: Mapping[str, object]) -> Place:
    """Return the tier of a test.

    Args:
        node_id: as pytest prints it, ``tests/…/test_x.py::test_y[z]``.
        marks: the names of its markers.
        arguments: of a parametrized test.
    """
    if "soak" in marks:
        return Place(Tier.SOAK, SOAKS)
    for long in LONG:
        if is_below(node_id, long.where) and (not long.mark or long.mark in marks):
            if any(is_below(node_id, short) for short in long.short):
                return Place(Tier.SHORT, "")
            return Place(Tier.FULL, long.what)
    seed = arguments.get("seed")
    if isinstance(seed, int) and seed >= SHORT_SEEDS:
        return Place(Tier.FULL, FURTHER_SEEDS)
    return Place(Tier.SHORT, "")


def is_below(node_id: str, where: str) -> bool:
    """Return whether a test is in a folder, in a file, or a case of a function."""
    rest = node_id.removeprefix(where)
    return rest != node_id and (
        not rest or where.endswith("/") or rest[:2] == "::" or rest[0] == "["
    )


def summary(left_out: Mapping[tuple[str, str], int]) -> list[str]:
    """Return the lines that say what a run left out, and which command runs it.

    Args:
        left_out: how many tests of which tier (its name) and what kind.
    """
    lines = []
    for tier in Tier:
        kinds = {what: count for (name, what), count in left_out.items() if name == tier.name}
        if kinds:
            lines.append(f"left out, run by `{tier.command}`: {sum(kinds.values()):,} tests")
            lines += [f"  {count:6,}  {what}" for what, count in kinds.items() if what]
    return lines
