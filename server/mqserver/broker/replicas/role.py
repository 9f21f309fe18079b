"""The role of one broker in a group with a controller: a state machine without sockets or clock.

    disk: identity, epoch heard ──> RoleMachine ──> actions, carried out in order by the caller
    answers of the controller ──────┤    └─ InSyncSet while it leads
    slaves, the log, time ──────────┘

Create a ``RoleMachine`` with what the disk has, and carry out the actions that every call returns.

    start, tick           time passes; call ``tick`` at least every ``TICK_MS``
    answered, unanswered  exactly one of them for each ``Ask``, in any order
    hint                  somebody said that the master has changed (request code 1008)
    led, not_led          how a ``Lead`` ended
    not_saved             a Save action failed; carry out none of those behind it, and call
                          ``unanswered`` for each Ask among them
    log_written           the log has grown, or more of it is as safe as the settings promise
    slave_connected, slave_acknowledged, slave_disconnected    while LEADING
    followed              while FOLLOWING: own end and the master's confirm offset
    stop                  the process ends

Every call takes ``now_ms`` of a clock that never steps. ``Follow`` and ``StandBy`` may restart the
process if it was a master; a new machine then starts from the disk. ``roles`` has the table.

Rules:

* The committed in-sync set changes only by what the controller says.
* The highest epoch heard of is saved before it is acted on, and a broker leads only by an epoch
  that is higher than the highest one saved before. So a broker that starts again never leads by
  its old epoch; if the controller still names it, it stays SILENT until that elects again.
* A master whose set does not acknowledge refuses messages when ``lease_ms`` has passed since it
  *sent* the last question to which the controller answered that it leads: another one may lead by
  now. While the whole set acknowledges no other can lead, and an unreachable controller alone
  stops nothing. What was acknowledged rests on the set and on no clock.
* A proposal for the set whose outcome cannot be known any more ends the leadership: the next
  election voids it. Before that, a controller has ``timeout_ms`` to hear of a member.

Source: broker/controller/ReplicasManager.java (5.4.0), which has neither lease nor saved epoch.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from mqserver.broker.replicas.in_sync_set import Committed, InSyncSet
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
from mqserver.broker.replicas.roles import BEATING, Role, RoleEvent, step
from remoting.codes import LaterResponseCode, ResponseCode

TICK_MS: Final = 100
RETRY_MS: Final = 500
"""After so long a question that failed is asked again."""

_UNKNOWN: Final = (
    LaterResponseCode.CONTROLLER_BROKER_METADATA_NOT_EXIST,
    LaterResponseCode.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED,
)


class Identity(NamedTuple):
    """What the identity files say."""

    broker_id: int | None = None
    trial_id: int | None = None
    """The id that was being taken when the process ended."""
    trial_code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSettings:
    """The settings of a role machine, in ms."""

    heartbeat_ms: int = 500
    timeout_ms: int = 2_000
    """After so long a silence the controller takes this broker for dead."""
    poll_ms: int = 1_000
    lag_ms_max: int = 2_500
    all_ack: bool = True
    ack_count: int = 1
    members_min: int = 1
    """With a smaller in-sync set messages are refused (minInSyncReplicas)."""

    @property
    def lease_ms(self) -> int:
        """Return how long a master may accept messages after an answer; less than the timeout."""
        return max(
            self.timeout_ms - self.heartbeat_ms - self.timeout_ms // 20, self.timeout_ms // 2
        )


class RoleMachine:
    """The role of one broker.

    Args:
        identity: the content of the identity files.
        heard: the highest master epoch that this broker heard of, from the disk.
        log_end: the end of the log.
        check_code: what identifies this broker when it asks for an id.
        settings: intervals and promises.
    """

    def __init__(
        self,
        identity: Identity,
        *,
        heard: int,
        log_end: int,
        check_code: str,
        settings: RoleSettings,
    ) -> None:
        self.role = Role.NAMELESS
        self.broker_id = identity.broker_id
        self.heard = heard
        """The highest epoch that was saved."""
        self.epoch = 0
        """The epoch by which this broker leads, or that of the master that it follows."""
        self.master: Follow | None = None
        """The master that it follows."""
        self.in_sync: InSyncSet | None = None
        """The in-sync set while it leads."""
        self.problem = ""
        """What the controller refused last; empty if nothing."""
        self._identity = identity
        self._check_code = check_code
        self._settings = settings
        self._log_end = log_end
        self._confirm_offset = 0
        self._is_heard_saved = True
        self._accepts = False
        self._lease_ms = 0
        """Until when messages may be accepted."""
        self._asked: dict[type, tuple[Question, int]] = {}
        """The questions that have no answer yet, and when they were asked."""
        self._due: dict[type, int] = {}
        """When a question may be asked next."""
        self._is_hinted = False
        self._beat_due_ms = 0
        self._elected: MasterView | None = None
        self._refused: tuple[AlterSet, int] | None = None
        """The proposal in doubt that was refused for a dead member, and when it first was."""

    # Time.

    def start(self, now_ms: int) -> list[Action]:
        """Begin; call it once."""
        if self.broker_id is not None:
            self._move(RoleEvent.HAS_ID)
        return self.tick(now_ms)

    def tick(self, now_ms: int) -> list[Action]:
        """Return what is due."""
        actions: list[Action] = []
        if self.role in BEATING and now_ms >= self._beat_due_ms:
            actions += self._beat(now_ms)
        match self.role:
            case Role.NAMELESS:
                actions += self._next_id(now_ms)
            case Role.APPLYING:
                actions += self._ask(ApplyId(*self._trial()), now_ms)
            case Role.REGISTERING:
                actions += self._ask(Register(self._own_id()), now_ms)
            case Role.ELECTING:
                actions += self._ask(Elect(self._own_id()), now_ms)
            case Role.SILENT | Role.FOLLOWING | Role.PROMOTING:
                actions += self._ask(AskMaster(), now_ms)
            case Role.LEADING:
                actions += self._ask(AskMaster(), now_ms)
                actions += self._look(now_ms)
        return actions

    def _next_id(self, now_ms: int) -> list[Action]:
        if self._identity.trial_id is not None:
            # The process ended while it took an id: the same code gets the same id.
            self._move(RoleEvent.ID_OFFERED)
            return self._ask(ApplyId(*self._trial()), now_ms)
        return self._ask(AskNextId(), now_ms)

    def _trial(self) -> tuple[int, str]:
        assert self._identity.trial_id is not None
        return self._identity.trial_id, self._identity.trial_code

    def _own_id(self) -> int:
        assert self.broker_id is not None
        return self.broker_id

    def _beat(self, now_ms: int) -> list[Action]:
        self._beat_due_ms = now_ms + self._settings.heartbeat_ms
        return [Beat(self._own_id(), self._log_end, self.confirm_offset)]

    def _ask(self, question: Question, now_ms: int) -> list[Action]:
        """Ask, unless the same kind of question has no answer yet or was asked a moment ago."""
        kind = type(question)
        if kind in self._asked or now_ms < self._due.get(kind, now_ms):
            return []
        self._asked[kind] = (question, now_ms)
        return [Ask(question)]

    # Answers.

    def unanswered(self, question: Question, now_ms: int) -> list[Action]:
        """Note that a question got no answer; it is asked again later."""
        self._settle(question, now_ms + RETRY_MS)
        if isinstance(question, AlterSet) and self._is_proposed(question):
            assert self.in_sync is not None
            self.in_sync.unanswered()
        return self._lease(now_ms)

    def _settle(self, question: Question, due_ms: int) -> int:
        """Note that a question has ended; return when it was asked."""
        _, asked_ms = self._asked.pop(type(question))
        self._due[type(question)] = due_ms
        return asked_ms

    def answered(self, question: Question, answer: Answer, now_ms: int) -> list[Action]:
        """Act on an answer of the controller."""
        ok = answer.code == ResponseCode.SUCCESS
        asked_ms = self._settle(question, now_ms + RETRY_MS)
        self.problem = "" if ok else f"code {answer.code}: {answer.remark}"
        match question:
            case AskNextId():
                return self._id_offered(answer, now_ms) if ok else []
            case ApplyId():
                return self._id_decided(question, ok=ok, now_ms=now_ms)
            case AlterSet():
                return self._altered(question, answer, now_ms)
            case AskMaster():
                self._due[AskMaster] = now_ms if self._is_hinted else asked_ms + self._poll_ms
                self._is_hinted = False
        if self.role in (Role.NAMELESS, Role.APPLYING):
            return []
        still_leads = answer.code == LaterResponseCode.CONTROLLER_MASTER_STILL_EXIST
        if answer.code in _UNKNOWN:
            return self._change(RoleEvent.UNKNOWN, now_ms, why="the controller lost this group")
        if not ok and not still_leads:
            return self._lease(now_ms)
        return self._see(
            answer.view, now_ms, asked_ms=asked_ms, is_register=isinstance(question, Register)
        )

    @property
    def _poll_ms(self) -> int:
        if self.role is Role.FOLLOWING:
            return self._settings.poll_ms
        return min(self._settings.heartbeat_ms, self._settings.lease_ms // 2)

    def _id_offered(self, answer: Answer, now_ms: int) -> list[Action]:
        if self.role is not Role.NAMELESS or answer.next_id is None:
            return []
        self._move(RoleEvent.ID_OFFERED)
        self._identity = Identity(trial_id=answer.next_id, trial_code=self._check_code)
        return [
            SaveTrialId(answer.next_id, self._check_code),
            *self._ask(ApplyId(answer.next_id, self._check_code), now_ms),
        ]

    def _id_decided(self, question: ApplyId, *, ok: bool, now_ms: int) -> list[Action]:
        if self.role is not Role.APPLYING:
            return []
        self._identity = Identity()
        if not ok:
            self._move(RoleEvent.ID_REFUSED)
            return []
        self.broker_id = question.broker_id
        self._move(RoleEvent.ID_GRANTED)
        return [SaveId(question.broker_id), *self.tick(now_ms)]

    def hint(self, now_ms: int) -> list[Action]:
        """Ask who the master is, because somebody said that it changed (request code 1008).

        Who said it is not known, so only the answer counts. A question that is out already may
        have been answered before the change, and is asked again.
        """
        if self.role in (Role.NAMELESS, Role.APPLYING):
            return []
        self._is_hinted = AskMaster in self._asked
        self._due.pop(AskMaster, None)
        return self._ask(AskMaster(), now_ms)

    def not_saved(self, action: Action, why: str, now_ms: int) -> list[Action]:
        """Note that a Save action failed: what depends on it is not done, and comes again later."""
        self.problem = why
        if isinstance(action, SaveHeard):
            self._is_heard_saved = False
            return self._change(RoleEvent.NOT_SAVED, now_ms, why=why)
        self.broker_id, self._identity = None, Identity()
        self._move(RoleEvent.ID_NOT_SAVED)
        self._due[AskNextId] = now_ms + RETRY_MS
        return []

    # Who leads.

    def _see(
        self,
        view: MasterView,
        now_ms: int,
        *,
        asked_ms: int,
        is_register: bool,
    ) -> list[Action]:
        """Act on what the controller says about the master.

        Args:
            view: what it says.
            now_ms: the steady clock.
            asked_ms: when it was asked.
            is_register: the answer is to a registration, which names no epoch without a master.
        """
        epoch = self.heard if view.epoch is None else view.epoch
        if epoch < self.heard or (view.epoch is None and not is_register):
            # An older answer, or a controller that does not know yet that it was deposed.
            return []
        if view.master_id is None:
            return self._see_no_master(epoch, now_ms)
        if view.master_id != self.broker_id:
            return self._see_other(view, epoch, now_ms)
        if epoch > self.heard:
            self._elected = view
            return [*self._hear(epoch), *self._change(RoleEvent.ELECTED, now_ms, why="")]
        if self.role is Role.LEADING and epoch == self.epoch:
            return self._renew(view, now_ms, asked_ms)
        if self.role is Role.PROMOTING:
            return []
        return self._change(RoleEvent.OLD_EPOCH, now_ms, why="an old epoch must not be resumed")

    def _see_no_master(self, epoch: int, now_ms: int) -> list[Action]:
        if self.role is Role.FOLLOWING and epoch == self.heard:
            # The controller elects; what the former master sent is still received.
            return []
        return [
            *self._hear(epoch),
            *self._change(RoleEvent.NO_MASTER, now_ms, why="the group has no master"),
        ]

    def _see_other(self, view: MasterView, epoch: int, now_ms: int) -> list[Action]:
        if view.address is None or view.master_id is None:
            return []
        master = Follow(view.master_id, view.address, epoch)
        if self.role is Role.FOLLOWING and master == self.master:
            return []
        actions = self._hear(epoch)
        why = f"broker {view.master_id} leads by epoch {epoch}"
        actions += self._change(RoleEvent.OTHER_LEADS, now_ms, why=why)
        self.master, self.epoch = master, epoch
        return [*actions, master]

    def _hear(self, epoch: int) -> list[Action]:
        if epoch <= self.heard and self._is_heard_saved:
            return []
        self.heard, self._is_heard_saved = max(epoch, self.heard), True
        return [SaveHeard(self.heard)]

    def _renew(self, view: MasterView, now_ms: int, asked_ms: int) -> list[Action]:
        """Go on leading: take over the set, and renew the lease."""
        assert self.in_sync is not None
        actions: list[Action] = []
        if view.committed is not None and self.in_sync.show(view.committed):
            actions.append(Confirmed())
        self._lease_ms = max(self._lease_ms, asked_ms + self._settings.lease_ms)
        return actions + self._lease(now_ms)

    def _change(self, event: RoleEvent, now_ms: int, *, why: str) -> list[Action]:
        """Change the role; leave the duties of the old one, and begin those of the new one."""
        before = self.role
        self._move(event)
        actions: list[Action] = []
        if self._accepts:
            self._accepts = False
            actions.append(CloseSends(why or "it becomes the master of a new epoch"))
        if self.role is not Role.LEADING:
            self.in_sync = None
        if self.role is not Role.FOLLOWING:
            self.master = None
        if self.role is Role.PROMOTING:
            self.epoch = self.heard
            return [*actions, Lead(self.epoch)]
        if self.role is not Role.FOLLOWING and before in (
            Role.FOLLOWING,
            Role.PROMOTING,
            Role.LEADING,
        ):
            actions.append(StandBy(why))
        if self.role in (Role.ELECTING, Role.REGISTERING) and before is not self.role:
            # A fresh heartbeat has to be there before the election.
            self._beat_due_ms = now_ms
            self._due.clear()
            actions += self.tick(now_ms)
        return actions

    def _move(self, event: RoleEvent) -> None:
        self.role = step(self.role, event)

    def led(self, log_end: int, now_ms: int) -> list[Action]:
        """Note that the log is ready for the epoch of the last ``Lead``.

        Args:
            log_end: where the epoch begins.
            now_ms: the steady clock.
        """
        if self.role is not Role.PROMOTING or self.broker_id is None:
            return []
        view, self._elected = self._elected, None
        committed = view.committed if view is not None else None
        self._move(RoleEvent.LED)
        self._log_end = log_end
        settings = self._settings
        self.in_sync = InSyncSet(
            self.broker_id,
            log_end,
            committed or Committed(frozenset({self.broker_id}), 0),
            settings.lag_ms_max,
            all_ack=settings.all_ack,
            ack_count=settings.ack_count,
        )
        self._lease_ms = now_ms
        self._due.pop(AskMaster, None)
        return [Confirmed(), *self._beat(now_ms), *self.tick(now_ms)]

    def not_led(self, why: str, now_ms: int) -> list[Action]:
        """Note that this broker could not become the master."""
        self.problem = why
        if self.role is not Role.PROMOTING:
            return []
        return self._change(RoleEvent.NOT_LED, now_ms, why=why)

    # Leading.

    def _lease(self, now_ms: int) -> list[Action]:
        """Open or close sends, as lease and set allow."""
        if self.role is not Role.LEADING or self.in_sync is None:
            return []
        why = ""
        if now_ms >= self._lease_ms and self.in_sync.lacks_member(now_ms):
            why = "neither the controller nor the whole in-sync set answers this master"
        elif len(self.in_sync.committed.members) < self._settings.members_min:
            why = "in-sync replicas not enough"
        if self._accepts == (not why):
            return []
        self._accepts = not why
        return [CloseSends(why) if why else OpenSends()]

    def _look(self, now_ms: int) -> list[Action]:
        """See whether lease and set are still right."""
        actions = self._lease(now_ms)
        assert self.in_sync is not None
        if self.in_sync.look(now_ms):
            actions.append(Confirmed())
        return actions + self._propose(now_ms)

    def _propose(self, now_ms: int) -> list[Action]:
        if self.in_sync is None or self.in_sync.proposed is None:
            return []
        set_epoch = self.in_sync.committed.epoch
        proposal = AlterSet(self._own_id(), self.epoch, self.in_sync.proposed, set_epoch)
        return self._ask(proposal, now_ms)

    def _is_proposed(self, question: AlterSet) -> bool:
        """Tell whether a question is about the present proposal."""
        return (
            self.role is Role.LEADING
            and self.in_sync is not None
            and self.epoch == question.master_epoch
            and self.in_sync.committed.epoch == question.set_epoch
            and self.in_sync.proposed == question.members
        )

    def _altered(self, question: AlterSet, answer: Answer, now_ms: int) -> list[Action]:
        """Act on the answer to a proposal."""
        if not self._is_proposed(question):
            return []
        assert self.in_sync is not None
        self._due.pop(AlterSet, None)
        if answer.code == ResponseCode.SUCCESS and answer.view.committed is not None:
            moved = self.in_sync.show(answer.view.committed)
            return [Confirmed()] * moved + self._look(now_ms)
        self._due[AlterSet] = now_ms + RETRY_MS
        self._due.pop(AskMaster, None)
        is_dead_member = answer.code in (
            LaterResponseCode.CONTROLLER_INVALID_REPLICAS,
            LaterResponseCode.CONTROLLER_BROKER_NOT_ALIVE,
        )
        if not is_dead_member:
            # Another set or epoch holds; 1004 shows which, and until then both sets count.
            return self._ask(AskMaster(), now_ms)
        if self.in_sync.refused() or self._give_time(question, answer.code, now_ms):
            return self._ask(AskMaster(), now_ms)
        why = "it is unknown whether the controller will still change the in-sync set"
        return self._change(RoleEvent.STEPS_DOWN, now_ms, why=why)

    def _give_time(self, question: AlterSet, code: int, now_ms: int) -> bool:
        """Return whether to wait for a controller that may not have heard of a member yet.

        One that has just started knows a member after its next heartbeat; it has ``timeout_ms``
        from its first refusal on.
        """
        if self._refused is None or self._refused[0] != question:
            self._refused = (question, now_ms)
        is_unheard = code == LaterResponseCode.CONTROLLER_BROKER_NOT_ALIVE
        return is_unheard and now_ms - self._refused[1] < self._settings.timeout_ms

    @property
    def confirm_offset(self) -> int:
        """Return the log offset below which readers may see messages."""
        return self._confirm_offset if self.in_sync is None else self.in_sync.confirm_offset

    def log_written(self, log_end: int, now_ms: int) -> list[Action]:
        """Note how far the log reaches that is as safe as this broker's settings promise."""
        self._log_end = log_end
        if self.in_sync is None:
            return []
        before = self.in_sync.answer_offset
        moved = self.in_sync.advance(log_end, now_ms)
        return [Confirmed()] * (moved or self.in_sync.answer_offset > before)

    def slave_connected(
        self, broker_id: int, acked_offset: int, now_ms: int, *, is_learner: bool = False
    ) -> list[Action]:
        """Note that a slave begins to copy from ``acked_offset``."""
        if self.in_sync is None:
            return []
        moved = self.in_sync.connected(broker_id, acked_offset, now_ms, is_learner=is_learner)
        return [Confirmed()] * moved + self._look(now_ms)

    def slave_acknowledged(
        self, broker_id: int, acked_offset: int, *, sent_end: int, now_ms: int
    ) -> list[Action]:
        """Note how far a slave has the log; see ``InSyncSet.acknowledged``."""
        if self.in_sync is None:
            return []
        before = self.in_sync.answer_offset
        moved = self.in_sync.acknowledged(broker_id, acked_offset, sent_end=sent_end, now_ms=now_ms)
        actions: list[Action] = [Confirmed()] * (moved or self.in_sync.answer_offset > before)
        if broker_id not in self.in_sync.committed.members:
            actions += self._look(now_ms)
        return actions

    def slave_disconnected(self, broker_id: int, now_ms: int) -> list[Action]:
        """Note that the connection of a slave is gone."""
        if self.in_sync is None:
            return []
        before = self.in_sync.answer_offset
        moved = self.in_sync.disconnected(broker_id, now_ms)
        return [Confirmed()] * (moved or self.in_sync.answer_offset > before)

    # Following.

    def followed(self, log_end: int, confirm_offset: int) -> list[Action]:
        """Note the end of this log and the confirm offset that the master sent."""
        self._log_end = log_end
        confirm_offset = min(confirm_offset, log_end)
        if self.role is not Role.FOLLOWING or confirm_offset <= self._confirm_offset:
            return []
        self._confirm_offset = confirm_offset
        return [Confirmed()]

    def stop(self) -> list[Action]:
        """Accept no more messages, since the process ends."""
        if not self._accepts:
            return []
        self._accepts = False
        return [CloseSends("the broker stops")]

    # Tools.

    def numbers(self) -> dict[str, str]:
        """Return the entries of the broker's runtime information about its role."""
        entries = {
            "groupRole": self.role.name,
            "groupBrokerId": str(self.broker_id or 0),
            "masterEpoch": str(self.epoch),
            "confirmOffset": str(self.confirm_offset),
            "controllerProblem": self.problem,
        }
        if self.in_sync is not None:
            committed = self.in_sync.committed
            entries["inSyncSet"] = ",".join(map(str, sorted(committed.members)))
            entries["inSyncSetEpoch"] = str(committed.epoch)
        return entries
