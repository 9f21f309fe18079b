"""The role of a broker in a group: every question, every answer, every state."""

import itertools
from collections.abc import Sequence

import pytest

from mqserver.broker.replicas.in_sync_set import ABSENT_MS, GONE_MS, Committed
from mqserver.broker.replicas.role import RETRY_MS, Identity, RoleMachine, RoleSettings
from mqserver.broker.replicas.role_actions import (
    Action,
    AlterSet,
    Answer,
    ApplyId,
    Ask,
    AskMaster,
    AskNextId,
    Beat,
    CloseSends,
    Confirmed,
    Elect,
    Follow,
    Lead,
    MasterView,
    OpenSends,
    Question,
    Register,
    SaveHeard,
    SaveId,
    SaveTrialId,
    StandBy,
)
from mqserver.broker.replicas.roles import NEXT, Role, RoleEvent, step
from remoting.codes import LaterResponseCode as Code
from storefmt.errors import BadCall

A, B = "10.0.0.1:10911", "10.0.0.2:10911"
SETTINGS = RoleSettings()
CODE = f"{A};1"


def machine(broker_id: int | None = 1, *, heard: int = 0, log_end: int = 0) -> RoleMachine:
    return RoleMachine(
        Identity(broker_id), heard=heard, log_end=log_end, check_code=CODE, settings=SETTINGS
    )


def names(
    master_id: int | None, epoch: int | None, *members: int, set_epoch: int = 1
) -> MasterView:
    address = {1: A, 2: B, None: None}[master_id]
    committed = Committed(frozenset(members), set_epoch) if members else None
    return MasterView(master_id, address, epoch, committed)


def ok(view: MasterView) -> Answer:
    return Answer(0, view=view)


def of(kind: type, actions: Sequence[Action]) -> list[Action]:
    return [action for action in actions if isinstance(action, kind)]


def asked(actions: Sequence[Action]) -> list[Question]:
    return [action.question for action in actions if isinstance(action, Ask)]


def leading(*members: int, epoch: int = 1, log_end: int = 100) -> RoleMachine:
    """Return master 1, at 0 ms; members besides it have the whole log."""
    role = machine()
    role.start(0)
    role.answered(Register(1), ok(names(None, None)), 0)
    role.answered(Elect(1), ok(names(1, epoch, 1, *members)), 0)
    role.led(log_end, 0)
    role.answered(AskMaster(), ok(names(1, epoch, 1, *members)), 0)
    for member in members:
        role.slave_connected(member, log_end, 0)
    assert role.role is Role.LEADING
    return role


def following(*, heard: int = 3, log_end: int = 100) -> RoleMachine:
    """Return slave 1 of broker 2, which leads by epoch ``heard``, at 0 ms."""
    role = machine(heard=heard, log_end=log_end)
    role.start(0)
    role.answered(Register(1), ok(names(2, heard, 2)), 0)
    assert role.role is Role.FOLLOWING
    return role


def told(role: RoleMachine, view: MasterView, now_ms: int) -> list[Action]:
    """Let the controller say that the master changed, and answer who it is."""
    assert asked(role.hint(now_ms)) in ([AskMaster()], [])
    return [
        action
        for action in role.answered(AskMaster(), ok(view), now_ms)
        if action != Ask(AskMaster())
    ]


# The id.


def test_a_new_broker_takes_an_id_and_keeps_it() -> None:
    role = machine(None)

    assert role.start(0) == [Ask(AskNextId())]
    offered = role.answered(AskNextId(), Answer(0, next_id=3), 1)
    assert offered == [SaveTrialId(3, CODE), Ask(ApplyId(3, CODE))]
    assert role.answered(ApplyId(3, CODE), Answer(0), 2) == [SaveId(3), Ask(Register(3))]
    assert role.broker_id == 3


def test_an_id_that_another_broker_took_first_is_asked_for_again() -> None:
    role = machine(None)
    role.start(0)
    role.answered(AskNextId(), Answer(0, next_id=3), 1)

    role.answered(ApplyId(3, CODE), Answer(Code.CONTROLLER_BROKER_ID_INVALID), 2)

    assert role.role is Role.NAMELESS
    assert asked(role.tick(2 + RETRY_MS)) == [AskNextId()]


def test_an_id_that_was_being_taken_is_taken_with_the_same_code() -> None:
    role = RoleMachine(
        Identity(None, 4, "old;7"), heard=0, log_end=0, check_code=CODE, settings=SETTINGS
    )

    assert asked(role.start(0)) == [ApplyId(4, "old;7")]


def test_an_id_that_is_not_saved_is_not_used() -> None:
    role = machine(None)
    role.start(0)
    role.answered(AskNextId(), Answer(0, next_id=3), 1)
    actions = role.answered(ApplyId(3, CODE), Answer(0), 2)
    role.not_saved(actions[0], "disk full", 2)
    role.unanswered(Register(3), 2)

    assert role.role is Role.NAMELESS
    assert role.broker_id is None
    assert asked(role.tick(2 + RETRY_MS)) == [AskNextId()]


# Finding the master.


def test_a_group_without_a_master_is_asked_to_elect_after_a_heartbeat() -> None:
    role = machine(log_end=77)
    assert role.start(0) == [Ask(Register(1))]

    actions = role.answered(Register(1), ok(names(None, None)), 5)

    assert actions == [Beat(1, 77, 0), Ask(Elect(1))]


def test_an_elected_broker_saves_the_epoch_before_it_leads() -> None:
    role = machine()
    role.start(0)
    role.answered(Register(1), ok(names(None, None)), 0)

    assert role.answered(Elect(1), ok(names(1, 1, 1)), 1) == [SaveHeard(1), Lead(1)]
    actions = role.led(100, 2)
    assert of(Beat, actions) == [Beat(1, 100, 100)]
    assert asked(actions) == [AskMaster()]
    assert of(OpenSends, actions) == [OpenSends()]


def test_a_slave_saves_the_epoch_before_it_follows() -> None:
    role = machine()
    role.start(0)

    actions = role.answered(Register(1), ok(names(2, 3, 2)), 0)

    assert actions == [SaveHeard(3), Follow(2, B, 3)]
    assert of(Beat, role.tick(0)) == [Beat(1, 0, 0)]


def test_a_master_that_is_still_there_counts_as_an_answer() -> None:
    role = machine()
    role.start(0)
    role.answered(Register(1), ok(names(None, None)), 0)

    answer = Answer(Code.CONTROLLER_MASTER_STILL_EXIST, view=names(2, 3, 2))

    assert role.answered(Elect(1), answer, 1) == [SaveHeard(3), Follow(2, B, 3)]


def test_a_refused_election_is_asked_again() -> None:
    role = machine()
    role.start(0)
    role.answered(Register(1), ok(names(None, None)), 0)
    role.answered(Elect(1), Answer(Code.CONTROLLER_ELECT_MASTER_FAILED, "nobody"), 1)

    assert role.problem == f"code {Code.CONTROLLER_ELECT_MASTER_FAILED}: nobody"
    assert asked(role.tick(RETRY_MS)) == []
    assert asked(role.tick(1 + RETRY_MS)) == [Elect(1)]


def test_an_answer_about_an_older_epoch_is_passed_over() -> None:
    role = following(heard=3)

    assert told(role, names(1, 2, 1), 5) == []
    assert told(role, names(None, 2), 5) == []
    assert role.role is Role.FOLLOWING


def test_a_slave_follows_the_master_of_a_higher_epoch() -> None:
    role = following(heard=3)

    assert told(role, MasterView(3, "10.0.0.3:1", 4), 5) == [
        SaveHeard(4),
        Follow(3, "10.0.0.3:1", 4),
    ]


def test_a_slave_follows_its_master_to_another_address() -> None:
    role = following(heard=3)

    assert told(role, MasterView(2, "10.0.0.9:1", 3), 5) == [Follow(2, "10.0.0.9:1", 3)]
    assert told(role, MasterView(2, "10.0.0.9:1", 3), 5) == []


def test_a_slave_goes_on_copying_while_the_controller_elects() -> None:
    role = following(heard=3)

    assert told(role, names(None, 3), 5) == []
    assert role.role is Role.FOLLOWING


def test_a_slave_leaves_a_master_that_was_deposed() -> None:
    role = following(heard=3)

    actions = told(role, names(None, 4), 5)

    assert actions[:2] == [SaveHeard(4), StandBy("the group has no master")]
    assert asked(actions) == [Elect(1)]
    assert role.master is None


def test_a_slave_whose_epoch_is_not_saved_does_not_follow() -> None:
    role = following(heard=3)
    actions = told(role, MasterView(3, "10.0.0.3:1", 4), 5)

    assert role.not_saved(actions[0], "disk full", 5)[0] == StandBy("disk full")
    assert role.role is Role.REGISTERING
    again = role.answered(Register(1), ok(MasterView(3, "10.0.0.3:1", 4)), 6)
    assert again == [SaveHeard(4), Follow(3, "10.0.0.3:1", 4)]


@pytest.mark.parametrize(
    "code",
    [Code.CONTROLLER_BROKER_METADATA_NOT_EXIST, Code.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED],
)
def test_a_broker_that_the_controller_does_not_know_registers_again(code: int) -> None:
    role = following()
    role.tick(SETTINGS.poll_ms)

    actions = role.answered(AskMaster(), Answer(code), SETTINGS.poll_ms)

    assert role.role is Role.REGISTERING
    assert of(StandBy, actions)
    assert asked(actions) == [Register(1)]


# A master that starts again.


@pytest.mark.parametrize("epoch", [5, 4])
def test_a_restarted_master_never_leads_by_an_epoch_that_it_has_heard_of(epoch: int) -> None:
    role = machine(heard=5)
    role.start(0)

    assert of(Lead, role.answered(Register(1), ok(names(1, epoch, 1, 2)), 0)) == []
    for now_ms in range(0, 20_000, 100):
        actions = role.tick(now_ms)
        assert of(Beat, actions) == of(Lead, actions) == []
        if AskMaster() in asked(actions):
            role.answered(AskMaster(), ok(names(1, epoch, 1, 2)), now_ms)


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (names(2, 6, 2), [SaveHeard(6), Follow(2, B, 6)]),
        (names(1, 6, 1), [SaveHeard(6), Lead(6)]),
        (names(None, 6), [SaveHeard(6), Beat(1, 0, 0), Ask(Elect(1))]),
        (names(None, 5), [Beat(1, 0, 0), Ask(Elect(1))]),
    ],
    ids=["another one", "this one, anew", "nobody", "nobody yet"],
)
def test_a_silent_broker_goes_on_after_the_election(
    view: MasterView, expected: list[Action]
) -> None:
    role = machine(heard=5)
    role.start(0)
    role.answered(Register(1), ok(names(1, 5, 1, 2)), 0)
    assert role.role is Role.SILENT
    role.tick(1)

    assert role.answered(AskMaster(), ok(view), 2) == expected


# Leading.


def test_a_replica_joins_by_the_answer_of_the_controller_only() -> None:
    role = leading()

    actions = role.slave_connected(2, 100, 1)

    proposal = AlterSet(1, 1, frozenset({1, 2}), 1)
    assert asked(actions) == [proposal]
    role.log_written(200, 2)
    assert role.confirm_offset == 100
    role.slave_acknowledged(2, 150, sent_end=200, now_ms=3)
    answer = ok(MasterView(committed=Committed(frozenset({1, 2}), 2)))
    role.answered(proposal, answer, 4)
    assert role.in_sync is not None
    assert role.in_sync.committed == (frozenset({1, 2}), 2)
    assert role.confirm_offset == 150
    assert role.slave_acknowledged(2, 200, sent_end=200, now_ms=5) == [Confirmed()]


def test_what_waited_for_a_joining_replica_is_confirmed_when_its_connection_ends() -> None:
    role = leading()
    role.log_written(200, 1)
    role.slave_connected(2, 150, 2)
    assert role.log_written(300, 3) == []

    actions = role.slave_disconnected(2, 4)

    assert actions == [Confirmed()]
    assert role.confirm_offset == 300


def test_an_unanswered_proposal_is_asked_again_unchanged() -> None:
    role = leading(2)
    role.slave_disconnected(2, 0)
    proposal = AlterSet(1, 1, frozenset({1}), 1)
    assert proposal in asked(role.tick(GONE_MS))

    role.unanswered(proposal, GONE_MS)
    role.slave_connected(2, 100, GONE_MS)
    role.log_written(200, GONE_MS)

    assert proposal in asked(role.tick(GONE_MS + RETRY_MS))
    assert role.confirm_offset == 100
    shown = names(1, 1, 1, set_epoch=2)
    assert Confirmed() in role.answered(AskMaster(), ok(shown), GONE_MS + RETRY_MS)
    assert role.confirm_offset == 200


@pytest.mark.parametrize(
    "code",
    [
        Code.CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH,
        Code.CONTROLLER_FENCED_MASTER_EPOCH,
        Code.CONTROLLER_INVALID_MASTER,
        Code.CONTROLLER_ALTER_SYNC_STATE_SET_FAILED,
    ],
)
def test_a_proposal_against_another_set_asks_which_one_holds(code: int) -> None:
    role = leading(2)
    role.slave_disconnected(2, 0)
    role.tick(GONE_MS)
    role.answered(AskMaster(), ok(names(1, 1, 1, 2)), GONE_MS)

    actions = role.answered(AlterSet(1, 1, frozenset({1}), 1), Answer(code), GONE_MS)

    assert asked(actions) == [AskMaster()]
    assert role.in_sync is not None
    assert role.in_sync.required == {1, 2}


def test_a_proposal_with_a_dead_member_is_dropped() -> None:
    role = leading()
    role.slave_connected(2, 100, 1)
    refusal = Answer(Code.CONTROLLER_BROKER_NOT_ALIVE)

    role.answered(AlterSet(1, 1, frozenset({1, 2}), 1), refusal, 2)

    assert role.in_sync is not None
    assert role.in_sync.proposed is None


def in_doubt() -> tuple[RoleMachine, AlterSet]:
    """A master whose proposal had no answer, and is asked again at ``2 + RETRY_MS``."""
    role = leading()
    proposal = AlterSet(1, 1, frozenset({1, 2}), 1)
    role.slave_connected(2, 100, 1)
    role.unanswered(proposal, 1)
    assert asked(role.tick(2 + RETRY_MS))[-1] == proposal
    return role, proposal


def test_a_proposal_that_may_still_be_carried_out_ends_the_leadership_when_refused() -> None:
    role, proposal = in_doubt()

    actions = role.answered(proposal, Answer(Code.CONTROLLER_INVALID_REPLICAS), 3 + RETRY_MS)

    assert role.role is Role.REGISTERING
    assert of(CloseSends, actions)
    assert of(StandBy, actions)
    assert Register(1) in asked(actions)


def test_a_controller_that_has_just_started_may_not_have_heard_of_a_member_yet() -> None:
    role, proposal = in_doubt()
    now_ms, refusal = 3 + RETRY_MS, Answer(Code.CONTROLLER_BROKER_NOT_ALIVE)

    role.answered(proposal, refusal, now_ms)

    assert role.role is Role.LEADING
    assert role.in_sync is not None
    assert role.in_sync.required == {1, 2}
    assert proposal in asked(role.tick(now_ms + RETRY_MS))

    role.answered(proposal, refusal, now_ms + RoleSettings().timeout_ms)

    assert role.role is Role.REGISTERING


def test_a_master_stops_at_once_when_another_one_leads() -> None:
    role = leading()

    actions = told(role, names(2, 2, 2), 1)

    assert actions == [
        SaveHeard(2),
        CloseSends("broker 2 leads by epoch 2"),
        Follow(2, B, 2),
    ]
    assert role.in_sync is None


@pytest.mark.parametrize("epoch", [1, 2])
def test_a_master_stops_when_the_group_has_none(epoch: int) -> None:
    role = leading()

    actions = told(role, names(None, epoch), 1)

    assert of(CloseSends, actions)
    assert of(StandBy, actions)
    assert Elect(1) in asked(actions)


def test_a_master_that_is_elected_anew_begins_a_new_epoch() -> None:
    role = leading(2)

    actions = told(role, names(1, 2, 1, set_epoch=5), 1)

    assert actions[0] == SaveHeard(2)
    assert actions[-1] == Lead(2)
    role.led(150, 2)
    assert role.in_sync is not None
    assert role.in_sync.committed == (frozenset({1}), 5)
    assert role.confirm_offset == 150


def test_a_broker_that_cannot_lead_registers_again_and_never_takes_up_that_epoch() -> None:
    role = machine()
    role.start(0)
    role.answered(Register(1), ok(names(None, None)), 0)
    role.answered(Elect(1), ok(names(1, 1, 1)), 0)

    actions = role.not_led("disk full", 1)

    assert role.role is Role.REGISTERING
    assert of(StandBy, actions) == [StandBy("disk full")]
    assert of(Lead, role.answered(Register(1), ok(names(1, 1, 1)), 2)) == []
    assert role.role is Role.SILENT


def test_an_end_of_a_promotion_that_is_over_changes_nothing() -> None:
    role = following()

    assert role.led(100, 1) == role.not_led("late", 1) == []


# The lease.


def test_a_master_whose_set_acknowledges_needs_no_controller() -> None:
    role = leading(2)
    role.tick(1)

    for now_ms in range(1_000, 60_000, 1_000):
        role.log_written(now_ms, now_ms)
        role.slave_acknowledged(2, now_ms, sent_end=now_ms, now_ms=now_ms)
        assert of(CloseSends, role.tick(now_ms)) == []


def test_a_master_that_neither_controller_nor_set_answers_refuses_messages() -> None:
    role = leading(2)
    role.tick(1)
    role.log_written(200, 0)
    assert SETTINGS.lease_ms > ABSENT_MS
    assert of(CloseSends, role.tick(SETTINGS.lease_ms - 1)) == []

    assert of(CloseSends, role.tick(SETTINGS.lease_ms))

    answer = ok(names(1, 1, 1, 2))
    assert of(OpenSends, role.answered(AskMaster(), answer, 2_000)) == [OpenSends()]


def test_the_lease_counts_from_when_the_question_was_sent() -> None:
    role = leading(2)
    role.slave_disconnected(2, 0)
    assert AskMaster() in asked(role.tick(400)) or AskMaster() in asked(role.tick(500))

    role.answered(AskMaster(), ok(names(1, 1, 1, 2)), 1_300)

    assert of(CloseSends, role.tick(400 + SETTINGS.lease_ms - 1)) == []
    assert of(CloseSends, role.tick(500 + SETTINGS.lease_ms))


def test_a_question_that_was_out_when_the_master_changed_is_asked_again() -> None:
    role = following()
    assert role.hint(1) == [Ask(AskMaster())]
    assert role.hint(2) == []

    assert role.answered(AskMaster(), ok(names(2, 3, 2)), 3) == []

    assert asked(role.tick(3)) == [AskMaster()]
    role.answered(AskMaster(), ok(names(2, 3, 2)), 4)
    assert asked(role.tick(4)) == []


def test_a_hint_before_there_is_an_id_is_passed_over() -> None:
    role = machine(None)
    role.start(0)

    assert role.hint(1) == []


def test_the_lease_ends_before_the_controller_takes_a_broker_for_dead() -> None:
    for timeout_ms, heartbeat_ms in ((2_000, 500), (10_000, 1_000), (300, 100), (1_000, 900)):
        settings = RoleSettings(timeout_ms=timeout_ms, heartbeat_ms=heartbeat_ms)
        assert timeout_ms // 2 <= settings.lease_ms < timeout_ms


def test_too_small_a_set_refuses_messages() -> None:
    role = RoleMachine(
        Identity(1), heard=0, log_end=0, check_code=CODE, settings=RoleSettings(members_min=2)
    )
    role.start(0)
    role.answered(Register(1), ok(names(None, None)), 0)
    role.answered(Elect(1), ok(names(1, 1, 1)), 0)
    role.led(0, 0)
    assert of(OpenSends, role.answered(AskMaster(), ok(names(1, 1, 1)), 0)) == []

    two = ok(names(1, 1, 1, 2, set_epoch=2))
    role.tick(1_000)

    assert of(OpenSends, role.answered(AskMaster(), two, 1_000)) == [OpenSends()]


# Following.


def test_readers_of_a_slave_see_what_its_master_confirmed_and_it_has() -> None:
    role = following(log_end=100)

    assert role.followed(100, 150) == [Confirmed()]
    assert role.confirm_offset == 100
    assert role.followed(200, 150) == [Confirmed()]
    assert role.confirm_offset == 150
    assert role.followed(200, 150) == []


def test_reports_of_slaves_mean_nothing_to_a_slave() -> None:
    role = following()

    assert role.slave_connected(2, 1, 0) == []
    assert role.slave_acknowledged(2, 1, sent_end=1, now_ms=0) == []
    assert role.slave_disconnected(2, 0) == []


def test_heartbeats_go_out_in_time_and_questions_one_at_a_time() -> None:
    role = following()
    beats = asks = 0
    for now_ms in range(0, 10_000, 100):
        actions = role.tick(now_ms)
        beats += len(of(Beat, actions))
        asks += len(asked(actions))

    assert beats == 10_000 // SETTINGS.heartbeat_ms
    assert asks == 1, "the first one has no answer yet"


def test_a_broker_that_stops_accepts_nothing() -> None:
    assert of(CloseSends, leading().stop())
    assert following().stop() == []


@pytest.mark.parametrize(("role", "event"), list(itertools.product(Role, RoleEvent)))
def test_every_pair_of_the_table(role: Role, event: RoleEvent) -> None:
    if (role, event) in NEXT:
        assert step(role, event) is NEXT[role, event]
    else:
        with pytest.raises(BadCall, match=event.name):
            step(role, event)
