"""Ask the members of groups about their queues: in parallel, a few per broker, each once.

    command -> broker (a thread of it waits up to 10 s) -> client
       |
       |- at most PARALLEL_AT_BROKER requests are pending at one broker
       |- a member that did not answer is not asked again, nor is another client of its process
       `- after SILENT_MAX members without answer at a broker, its others are not asked

Rule: a member that does not answer is reported as such, never as an empty answer. A broker's admin
threads wait for the client, so many requests at a time would keep it from its other work.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from mqadmin.output.rows import PARTLY
from mqclient.errors import ClientError, TimedOut, Unreachable
from remoting.bodies import ConsumerRunningInfo, MessageQueue
from remoting.codes import ResponseCode
from storefmt.names import RETRY_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from mqclient.admin.admin import Admin

PARALLEL_AT_BROKER: Final = 4
"""A 4.9 broker has 16 admin threads, so it still answers when four commands run at a time."""
SILENT_MAX: Final = 12
"""Three rounds of silence, some 30 s; after that a broker's other members are left out."""
PROCESS_END: Final = "#"
"""A client id is IP@PID#NANOS: the part before this mark names the process."""


GROUPS_NOTED_MAX: Final = 3
"""More groups with members that did not answer share a sentence."""


class MemberOutcome(StrEnum):
    """How a request to a member ended."""

    ANSWERED = "answered"
    SILENT = "silent"
    NOT_ASKED = "not asked"
    UNABLE = "unable"
    """Its broker, its version or its language does not support the request."""


@dataclass(frozen=True, slots=True)
class MemberAnswer:
    """The answer of one member, or why there is none."""

    client_id: str
    outcome: MemberOutcome
    info: ConsumerRunningInfo | None = None
    remark: str = ""

    @property
    def is_silent(self) -> bool:
        """Return whether it should have answered but did not."""
        return self.outcome in (MemberOutcome.SILENT, MemberOutcome.NOT_ASKED)


class MemberSurvey:
    """The answers of members in one command.

    Args:
        admin: asks the brokers.
        now_ms: the clock, to report how long a member did not answer.
    """

    def __init__(self, admin: "Admin", now_ms: "Callable[[], int]") -> None:
        self._admin = admin
        self._now_ms = now_ms
        self._gates: dict[str, asyncio.Semaphore] = {}
        self._silences: Counter[str] = Counter()
        self._silent_processes: dict[str, str] = {}
        self._answers: dict[tuple[str, str, bool], asyncio.Task[MemberAnswer]] = {}

    async def survey(
        self, group: str, members: Mapping[str, str], *, jstack: bool = False
    ) -> dict[str, MemberAnswer]:
        """Return the answer of each member, sorted by client id.

        Args:
            members: the address of each member's broker, by client id.
            jstack: ask each for the stacks of its threads.
        """
        tasks = []
        for client_id, address in sorted(members.items()):
            key = group, client_id, jstack
            if key not in self._answers:
                asking = self._ask_member(address, group, client_id, jstack=jstack)
                self._answers[key] = asyncio.ensure_future(asking)
            tasks.append(self._answers[key])
        return {answer.client_id: answer for answer in await asyncio.gather(*tasks)}

    @property
    def silent(self) -> list[tuple[str, MemberAnswer]]:
        """Return group and answer of every member that did not answer, sorted."""
        answered = (
            (key[0], task.result())
            for key, task in self._answers.items()
            if task.done() and not task.cancelled() and task.exception() is None
        )
        return sorted(
            ((group, answer) for group, answer in answered if answer.is_silent),
            key=lambda pair: (pair[0], pair[1].client_id),
        )

    def notes(self, consequence: str) -> tuple[str, ...]:
        """Return a sentence for each group with members that did not answer, ending in the
        consequence.

        Many groups share one sentence, because their members are often in one process.
        """
        by_group: dict[str, list[MemberAnswer]] = {}
        for group, answer in self.silent:
            by_group.setdefault(group, []).append(answer)
        if len(by_group) > GROUPS_NOTED_MAX:
            names = ", ".join([*by_group][:GROUPS_NOTED_MAX])
            more = len(by_group) - GROUPS_NOTED_MAX
            # The first that was asked has the waiting time.
            first = min(
                (answer for answers in by_group.values() for answer in answers),
                key=lambda answer: answer.outcome is MemberOutcome.NOT_ASKED,
            )
            return (
                f"members of groups {names} and {more} more did not answer, such as "
                f"{first.client_id} ({first.remark}): {consequence}",
            )
        return tuple(
            f"{silence_text(group, answers)}: {consequence}" for group, answers in by_group.items()
        )

    def exit_code(self) -> int:
        """Return 5 if a member did not answer."""
        return PARTLY if self.silent else 0

    async def _ask_member(
        self, address: str, group: str, client_id: str, *, jstack: bool
    ) -> MemberAnswer:
        process = process_of(client_id)
        async with self._gates.setdefault(address, asyncio.Semaphore(PARALLEL_AT_BROKER)):
            left_out = self._reason_to_skip(address, process)
            if left_out:
                return MemberAnswer(client_id, MemberOutcome.NOT_ASKED, remark=left_out)
            asked_ms = self._now_ms()
            try:
                info = await self._admin.consumer_running_info(
                    address, group, client_id, jstack=jstack
                )
            except ClientError as error:
                if not is_silence(error):
                    return MemberAnswer(client_id, MemberOutcome.UNABLE, remark=str(error))
                self._silences[address] += 1
                self._silent_processes.setdefault(process, client_id)
                waited_s = round((self._now_ms() - asked_ms) / 1000)
                remark = f"no answer within {waited_s} s"
                return MemberAnswer(client_id, MemberOutcome.SILENT, remark=remark)
        return MemberAnswer(client_id, MemberOutcome.ANSWERED, info)

    def _reason_to_skip(self, address: str, process: str) -> str:
        """Return why a member is not asked; empty to ask it."""
        silent = self._silent_processes.get(process)
        if silent is not None:
            return f"not asked, because {silent} of the same process did not answer"
        if self._silences[address] >= SILENT_MAX:
            return f"not asked, because {SILENT_MAX} members at {address} did not answer"
        return ""


def process_of(client_id: str) -> str:
    """Return the part of a client id that names its process."""
    return client_id.partition(PROCESS_END)[0]


def is_silence(error: ClientError) -> bool:
    """Return whether an error says that the client did not answer its broker, or the broker us."""
    is_late = isinstance(error, (TimedOut, Unreachable))
    return is_late or error.code == ResponseCode.CONSUME_MSG_TIMEOUT


def silence_text(group: str, answers: Iterable[MemberAnswer]) -> str:
    """Return which members of a group did not answer, and for how long."""
    said = [f"{answer.client_id} ({answer.remark})" for answer in answers]
    more = f" and {len(said) - 3} more" if len(said) > 3 else ""
    noun = "member" if len(said) == 1 else "members"
    return f"{noun} {', '.join(said[:3])}{more} of group {group} did not answer"


def infos_of(answers: Mapping[str, MemberAnswer]) -> dict[str, ConsumerRunningInfo]:
    """Return the reports of the members that answered, by client id."""
    return {who: answer.info for who, answer in answers.items() if answer.info is not None}


def owners_of(infos: Mapping[str, ConsumerRunningInfo]) -> dict[MessageQueue, str]:
    """Return which member reads which queue, as each member reports it."""
    return {
        queue: member
        for member, info in infos.items()
        for queue, state in info.mq_table.items()
        if not state.droped
    }


def subscriptions_of(info: ConsumerRunningInfo) -> dict[str, str]:
    """Return topic -> expression of a member, without its retry topic."""
    return {
        data.topic or "": data.sub_string or "*"
        for data in info.subscription_set
        if not (data.topic or "").startswith(RETRY_PREFIX)
    }


def disagreement(infos: Mapping[str, ConsumerRunningInfo]) -> str:
    """Return how the subscriptions of a group's members differ; empty if they are equal."""
    by_wish: dict[str, list[str]] = {}
    for member, info in sorted(infos.items()):
        wish = ", ".join(
            f"{topic} ({expression})"
            for topic, expression in sorted(subscriptions_of(info).items())
        )
        by_wish.setdefault(wish or "nothing", []).append(member)
    if len(by_wish) < 2:
        return ""
    parts = "; ".join(f"{', '.join(who)}: {wish}" for wish, who in by_wish.items())
    return f"members have different subscriptions: {parts}"
