"""Groups that consume nothing: each check on made-up facts, and what is well beside it."""

from dataclasses import replace

import pytest

from mqadmin.cluster.members import MemberAnswer, MemberOutcome
from mqadmin.cluster.standing import QueuePosition, QueueState
from mqadmin.health.checkup import (
    Check,
    CheckupFinding,
    CheckupLimits,
    CheckupSeverity,
    checkup_exit_code,
    not_run,
)
from mqadmin.health.checkup_consumers import (
    GroupFacts,
    half_findings,
    listener_stack,
    lock_findings,
    member_findings,
    needs_second_look,
    offset_findings,
    progress_findings,
    stalled_findings,
    unlocked_findings,
)
from remoting.bodies import ConsumerRunningInfo, ConsumeStatus, MessageQueue, ProcessQueueInfo

NOW_MS = 1_000_000_000
QUEUE = MessageQueue("T", "broker-a", 3)
LIMITS = CheckupLimits(stuck_ms=30_000, half_ms=60_000)


def answered(
    state: ProcessQueueInfo | None = None, *, ok: float = 0, failed: float = 0, **properties: str
) -> dict[str, MemberAnswer]:
    info = ConsumerRunningInfo(
        properties=properties,
        mq_table={QUEUE: state} if state is not None else {},
        status_table={"T": ConsumeStatus(consume_ok_tps=ok, consume_failed_tps=failed)},
    )
    return {"m": MemberAnswer("m", MemberOutcome.ANSWERED, info)}


def standing(
    offset: int, end: int = 10, state: QueueState = QueueState.READABLE
) -> list[QueuePosition]:
    return [
        QueuePosition(
            group="g",
            topic="T",
            broker="broker-a",
            queue_id=3,
            state=state,
            consumer_offset=offset,
            min_offset=2,
            end_offset=end,
        )
    ]


def brief(found: list[CheckupFinding]) -> list[tuple[str, str]]:
    return [(one.severity.value, one.check.value) for one in found]


@pytest.mark.parametrize("outcome", [MemberOutcome.SILENT, MemberOutcome.NOT_ASKED])
def test_a_silent_member_is_an_error(outcome: MemberOutcome) -> None:
    answers = {"m": MemberAnswer("m", outcome, remark="no answer within 10 s")}

    (found,) = member_findings([GroupFacts("g", answers, standing(5))])

    assert brief([found]) == [("error", "member")]
    assert found.member == "m"
    assert found.found == "no answer within 10 s; 5 messages wait for the group"
    assert "group running g --client m --jstack" in found.hint


def test_a_silent_process_with_members_in_many_groups_is_one_finding() -> None:
    late = MemberAnswer("p@1#9", MemberOutcome.SILENT, remark="no answer within 10 s")
    skipped = MemberAnswer("p@1#2", MemberOutcome.NOT_ASKED, remark="not asked")
    other = MemberAnswer("q@7#1", MemberOutcome.SILENT, remark="no answer within 9 s")
    groups = [
        GroupFacts(name, {"m": skipped if name != "c" else late}, standing(1)) for name in "abcde"
    ]
    groups = [
        replace(one, answers={a.client_id: a for a in one.answers.values()}) for one in groups
    ]

    found = list(member_findings([*groups, GroupFacts("x", {other.client_id: other})]))

    assert [(one.subject, one.found) for one in found] == [
        (
            "group a, b, c and 2 more, member p@1#9",
            "no answer within 10 s; 45 messages wait for the groups",
        ),
        ("group x, member q@7#1", "no answer within 9 s"),
    ]


def test_a_member_that_cannot_be_asked_is_for_information() -> None:
    answers = {"m": MemberAnswer("m", MemberOutcome.UNABLE, remark="version too low")}

    assert brief(list(member_findings([GroupFacts("g", answers)]))) == [("info", "member")]
    assert list(member_findings([GroupFacts("g", answered())])) == []


@pytest.mark.parametrize(
    ("positions", "found"),
    [
        (standing(5), []),
        (standing(10), []),
        (standing(12), [("error", "offset")]),
        (standing(1), [("warning", "offset")]),
        (standing(5, state=QueueState.UNREADABLE), [("error", "offset")]),
        (standing(10, state=QueueState.UNREADABLE), []),
        (standing(12, state=QueueState.GONE), []),
    ],
)
def test_where_a_group_misses_messages(
    positions: list[QueuePosition], found: list[tuple[str, str]]
) -> None:
    assert brief(list(offset_findings(GroupFacts("g", {}, positions)))) == found


def test_an_offset_past_the_end_says_how_to_go_back() -> None:
    (found,) = offset_findings(GroupFacts("g", {}, standing(12)))

    assert "broker-a:3; 8 messages there are unread" in found.found
    assert "`offset reset g T --to earliest`" in found.hint


def held(
    *, count: int = 7, finished_ms: int, pulled_ms: int = NOW_MS, dropped: bool = False
) -> ProcessQueueInfo:
    return ProcessQueueInfo(
        cached_msg_count=count,
        last_consume_timestamp=finished_ms,
        last_pull_timestamp=pulled_ms,
        droped=dropped,
        locked=True,
    )


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (held(finished_ms=NOW_MS - 30_000), [("error", "stuck")]),
        (held(finished_ms=NOW_MS - 29_000), []),
        (held(finished_ms=NOW_MS - 99_000, count=0), []),
        (held(finished_ms=NOW_MS - 99_000, dropped=True), []),
        # Its clock is an hour behind, and it finished something a second ago.
        (held(finished_ms=NOW_MS - 3_601_000, pulled_ms=NOW_MS - 3_600_000), []),
        (
            held(finished_ms=NOW_MS - 3_640_000, pulled_ms=NOW_MS - 3_600_000),
            [("error", "stuck")],
        ),
    ],
)
def test_a_listener_that_finishes_nothing(
    state: ProcessQueueInfo, found: list[tuple[str, str]]
) -> None:
    facts = GroupFacts("g", answered(state))

    assert brief(list(progress_findings(facts, LIMITS, now_ms=NOW_MS))) == found


@pytest.mark.parametrize(
    ("count", "properties", "found"),
    [
        (1000, {}, [("warning", "cache")]),
        (999, {}, []),
        (10, {"pullThresholdForQueue": "10"}, [("warning", "cache")]),
        (10, {"pullThresholdForQueue": "-1"}, []),
    ],
)
def test_a_full_cache(count: int, properties: dict[str, str], found: list[tuple[str, str]]) -> None:
    facts = GroupFacts("g", answered(held(count=count, finished_ms=NOW_MS), **properties))

    assert brief(list(progress_findings(facts, LIMITS, now_ms=NOW_MS))) == found


@pytest.mark.parametrize(
    ("ok", "failed", "orderly", "found"),
    [
        (0, 1, "true", [("error", "orderly")]),
        (1, 1, "true", []),
        (0, 0, "true", []),
        (0, 1, "false", []),
    ],
)
def test_an_orderly_listener_that_gives_its_queue_back(
    ok: float, failed: float, orderly: str, found: list[tuple[str, str]]
) -> None:
    answers = answered(held(finished_ms=NOW_MS), ok=ok, failed=failed, PROP_CONSUMEORDERLY=orderly)

    facts = GroupFacts("g", answers)

    assert brief(list(progress_findings(facts, LIMITS, now_ms=NOW_MS))) == found


def test_locks() -> None:
    locks = [("g", QUEUE, "m", 50_000), ("g", QUEUE, "gone", 50_000)]

    (found,) = lock_findings(locks, {"g": ["m"]})

    assert found.found == "broker-a:3 is locked by gone, which is gone, for 50 s more"
    without = ProcessQueueInfo(locked=False)
    orderly = answered(without, PROP_CONSUMEORDERLY="true")
    assert brief(list(unlocked_findings(GroupFacts("g", orderly)))) == [("warning", "lock")]
    assert list(unlocked_findings(GroupFacts("g", answered(without)))) == []


def test_half_messages_that_wait_for_long() -> None:
    assert list(half_findings("b", [60_000], LIMITS)) == []
    (found,) = half_findings("b", [1, 60_001, 120_000], LIMITS)
    assert found.found == "2 half messages are undecided, the oldest for 120 s"


def test_members_that_do_not_say_what_they_hold_are_judged_by_their_offsets() -> None:
    silent = {"m": MemberAnswer("m", MemberOutcome.SILENT)}
    facts = GroupFacts("g", answered(), standing(5))

    assert needs_second_look(facts)
    assert not needs_second_look(GroupFacts("g", answered(), standing(10)))
    assert not needs_second_look(GroupFacts("g", answered(ProcessQueueInfo()), standing(5)))
    assert not needs_second_look(GroupFacts("g", silent, standing(5)))
    assert not needs_second_look(GroupFacts("g", {}, standing(5)))
    assert brief(list(stalled_findings(facts, standing(5), elapsed_ms=6000))) == [
        ("warning", "stuck")
    ]
    assert list(stalled_findings(facts, standing(6), elapsed_ms=6000)) == []
    assert list(stalled_findings(facts, standing(10), elapsed_ms=6000)) == []


def test_the_stack_of_a_listener_is_cut_out_of_all_of_them() -> None:
    java = (
        "main        TID: 1 STATE: WAITING\nmain     java.lang.Object.wait\nmain  x\n\n"
        "ConsumeMessageThread_1   TID: 7 STATE: WAITING\n"
        "ConsumeMessageThread_1   java.util.concurrent.ThreadPoolExecutor.getTask(T.java)\n"
        "ConsumeMessageThread_1   java.lang.Thread.run(Thread.java)\n\n"
        "ConsumeMessageThread_2   TID: 8 STATE: TIMED_WAITING\n"
        "ConsumeMessageThread_2   java.lang.Thread.sleep(Native Method)\n"
        "ConsumeMessageThread_2   Shop.consume(Shop.java:7)\n"
    )

    stack = listener_stack(java)

    assert stack is not None
    assert stack.splitlines()[-1] == "ConsumeMessageThread_2 Shop.consume(Shop.java:7)"
    assert listener_stack(None) is None
    assert listener_stack("main TID: 1\nmain a\nmain b\n") is None


@pytest.mark.parametrize(
    ("severities", "fail_on", "code"),
    [
        ([], "error", 0),
        (["warning"], "error", 0),
        (["error"], "error", 1),
        (["warning"], "warning", 1),
        (["not run"], "error", 7),
        (["not run", "warning"], "error", 7),
        (["not run", "error"], "error", 1),
        (["not run"], "info", 7),
        (["not run", "error"], "never", 0),
    ],
)
def test_exit_codes(severities: list[str], fail_on: str, code: int) -> None:
    found = [CheckupFinding(CheckupSeverity(one), Check.STUCK, "", "", "") for one in severities]

    assert checkup_exit_code(found, fail_on) == code


def test_a_check_that_was_not_run_says_how_to_run_it() -> None:
    found = not_run(Check.STUCK, "group g", "2 members did not answer")

    assert brief([found]) == [("not run", "stuck")]
    assert found.hint == "run `doctor --check stuck`"
