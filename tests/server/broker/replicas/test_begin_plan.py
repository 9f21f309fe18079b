"""Where a slave begins to copy."""

import pytest

from mqserver.broker.replicas.begin_plan import BeginAt, CannotFollow, CutAt, plan_begin
from mqserver.broker.replicas.frames import MasterHandshake
from storefmt.config.master_epochs import EpochStart

Epochs = list[tuple[int, int]]


@pytest.mark.parametrize(
    ("ours", "log_end", "theirs", "their_end", "expected"),
    [
        ([], 0, [(1, 0)], 500, BeginAt(0, needs_compare=False)),
        ([(1, 0)], 400, [(1, 0)], 500, BeginAt(400, needs_compare=False)),
        ([(1, 0)], 500, [(1, 0)], 400, CutAt(400)),
        ([(1, 0)], 500, [(1, 0), (2, 400)], 900, CutAt(400)),
        ([(1, 0)], 400, [(1, 0), (2, 400)], 900, BeginAt(400, needs_compare=False)),
        ([(1, 0), (2, 400)], 600, [(1, 0), (3, 500)], 900, CutAt(400)),
        ([], 300, [(1, 400)], 500, BeginAt(300, needs_compare=True)),
        ([], 450, [(1, 400)], 500, CutAt(400)),
        ([(1, 400)], 450, [(1, 400), (2, 440)], 500, CutAt(440)),
        ([(1, 400)], 450, [(1, 400)], 500, BeginAt(450, needs_compare=False)),
        ([(1, 300)], 450, [(2, 400)], 500, CutAt(300)),
    ],
    ids=[
        "empty", "behind", "ahead", "a newer epoch here is missing", "at the end of an epoch",
        "two masters", "both from before the controller", "longer than before the controller",
        "began without a controller, ahead", "began without a controller, behind",
        "another epoch from another offset",
    ],
)  # fmt: skip
def test_a_slave_begins_at_the_last_common_byte(
    ours: Epochs, log_end: int, theirs: Epochs, their_end: int, expected: BeginAt | CutAt
) -> None:
    master = MasterHandshake(their_end, tuple(EpochStart(*entry) for entry in theirs))
    epochs = [EpochStart(*entry) for entry in ours]

    assert plan_begin(epochs, log_min=0, log_end=log_end, master=master) == expected


@pytest.mark.parametrize(
    ("ours", "log_min"),
    [([], 0), ([(3, 0)], 0), ([(1, 0), (3, 100)], 0), ([(1, 0)], 100), ([(1, 100)], 100)],
    ids=["no epochs", "later", "also later", "its beginning is deleted", "began elsewhere"],
)
def test_logs_with_nothing_in_common_are_left_alone(ours: Epochs, log_min: int) -> None:
    master = MasterHandshake(900, (EpochStart(2, 0),))

    with pytest.raises(CannotFollow, match=r"nothing in common .*2-0"):
        plan_begin(
            [EpochStart(*entry) for entry in ours], log_min=log_min, log_end=500, master=master
        )


@pytest.mark.parametrize("ours", [[(1, 0)], [(1, 0), (2, 300)]])
def test_a_log_that_a_master_without_a_byte_did_not_have_is_cut_whole(ours: Epochs) -> None:
    """The master was elected before the first byte of the former epoch reached it."""
    master = MasterHandshake(900, (EpochStart(3, 0), EpochStart(4, 500)))

    plan = plan_begin([EpochStart(*entry) for entry in ours], log_min=0, log_end=400, master=master)

    assert plan == CutAt(0)


def test_what_was_deleted_here_cannot_be_compared() -> None:
    master = MasterHandshake(900, (EpochStart(1, 0), EpochStart(3, 300)))
    ours = [EpochStart(1, 0), EpochStart(2, 300)]

    with pytest.raises(CannotFollow):
        plan_begin(ours, log_min=400, log_end=500, master=master)
