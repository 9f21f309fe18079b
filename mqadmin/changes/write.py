"""Change servers and report what really happened: plan, ask, keep the old state, write, read back.

    targets --read--> steps (old, new) --confirm--> journal --> write all --> read all back
                        | nothing differs                                       |= new: changed
                        v                                                       |else: refused
                      unchanged                                                 v
                                                                               done

Rule: a value is saved before it is overwritten or removed, so that ``undo`` can restore it. If one
server fails, the others are still changed, and the rows show each result; only a deletion stops, so
that no route is gone while a broker still has the topic. With ``--dry-run`` nothing is asked, saved
or written.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, TypeVar, cast

from mqadmin.changes.targets.base import ChangeTarget, ListedTarget
from mqadmin.cluster.bounded_gather import bounded_gather
from mqadmin.errors import CommandError, ServerUnreachable, refusal_hint
from mqadmin.output.rows import CHANGED, NOT_FOUND, REFUSED, UNCHANGED, UNREACHABLE, WOULD_CHANGE
from mqadmin.session.call import Call
from mqadmin.session.journal import SavedState
from mqclient.errors import ClientError, TimedOut

T = TypeVar("T")
Choose = Callable[[T | None], T | None]


class Declined(Exception):
    """Raised to send nothing to one server of a plan; its row has this result."""

    def __init__(self, result: str, remark: str | None = None) -> None:
        super().__init__(result)
        self.result = result
        self.remark = remark


@dataclass(frozen=True, slots=True)
class ServerFailure:
    """Why a server was not read or written; ``result`` is that of the row."""

    result: str
    remark: str


@dataclass(frozen=True, slots=True)
class ChangeStep(Generic[T]):
    """The present and the planned value of one target; None means that it does not exist.

    Attributes:
        verdict: a result that is known before anything is sent, or empty.
        is_forced: written in any case, because the server hides its present value.
    """

    target: ChangeTarget[T]
    old: T | None
    new: T | None
    verdict: str = ""
    remark: str | None = None
    is_forced: bool = False

    @property
    def is_write(self) -> bool:
        """Return whether something has to be written."""
        differs = self.is_forced or not self.target.same(self.old, self.new)
        return differs and not self.verdict


def as_object_steps(steps: Sequence[ChangeStep[T]]) -> list[ChangeStep[object]]:
    """Return the steps, typed as a list with several kinds of targets."""
    return cast("list[ChangeStep[object]]", list(steps))


@dataclass(frozen=True, slots=True)
class StepResult(Generic[T]):
    """The result of a step; ``value`` is the present value on the server."""

    step: ChangeStep[T]
    result: str
    value: T | None
    remark: str | None = None

    @property
    def target(self) -> ChangeTarget[T]:
        """Return what was written."""
        return self.step.target

    @property
    def broker(self) -> str:
        """Return the name of the broker, or ``namesrv``."""
        return self.target.node.broker

    @property
    def address(self) -> str:
        """Return the address of the server."""
        return self.target.node.address

    @property
    def kind(self) -> str:
        """Return what kind of target it is."""
        return self.target.kind


def delete(old: object) -> None:
    """Plan to remove a target."""


def delete_existing(old: object) -> None:
    """Plan to remove a target; a missing one is reported as not found."""
    if old is None:
        raise Declined(NOT_FOUND)


def choose_settings(
    apply_to: Callable[[T | None], T], names: Sequence[str], *, update: bool, create: bool
) -> Choose[T]:
    """Return a function that chooses new settings from the present ones.

    Args:
        names: the settings to compare.
        update: change a target that exists with other settings; otherwise refuse it.
        create: create a target that does not exist; otherwise it is not found.
    """

    def choose(old: T | None) -> T:
        new = apply_to(old)
        if old is None and not create:
            raise Declined(NOT_FOUND)
        if not update and changed_settings(old, new, names):
            raise Declined(REFUSED, "it exists with other settings")
        return new

    return choose


def changed_settings(old: object, new: object, names: Sequence[str]) -> dict[str, object]:
    """Return the old values of the settings that differ; empty if one side does not exist."""
    if old is None or new is None:
        return {}
    return {name: getattr(old, name) for name in names if getattr(old, name) != getattr(new, name)}


async def plan(targets: Sequence[ChangeTarget[T]], choose: Choose[T]) -> list[ChangeStep[T]]:
    """Read every target and choose its new value; see ``plan_each``."""
    return await plan_each([(target, choose) for target in targets])


async def plan_each(pairs: Sequence[tuple[ChangeTarget[T], Choose[T]]]) -> list[ChangeStep[T]]:
    """Read every target and choose its new value with the target's own function.

    Args:
        pairs: targets with functions that get the present value, and return the new one or raise
            ``Declined``.

    Raises:
        ServerUnreachable: no server answered at all.
    """
    old_values = await _read([target for target, _ in pairs])
    steps = [
        _step(target, old, choose) for (target, choose), old in zip(pairs, old_values, strict=True)
    ]
    if steps and all(step.verdict == UNREACHABLE for step in steps):
        raise ServerUnreachable("; ".join(sorted({step.remark or "" for step in steps})))
    return steps


def _step(
    target: ChangeTarget[T], old: T | ServerFailure | None, choose: Choose[T]
) -> ChangeStep[T]:
    if isinstance(old, ServerFailure):
        return ChangeStep(target, None, None, old.result, old.remark)
    try:
        return ChangeStep(target, old, choose(old))
    except Declined as no:
        return ChangeStep(target, old, old, no.result, no.remark)


async def carry_out(
    call: Call,
    steps: Sequence[ChangeStep[T]],
    *,
    title: str,
    question: str | None = None,
    also: Sequence[SavedState] = (),
    undoes: int | None = None,
    in_order: bool = False,
) -> list[StepResult[T]]:
    """Carry out the steps and return their results.

    Args:
        in_order: one after the other, stopping at the first failure.
        title: title of the journal entry: the command and its names, without secrets.
        also: what disappears with the targets without a step of its own, for the journal.
        question: asked before the first write; None if it is easily undone.

    Raises:
        Usage: there is no terminal to ask on.
        CommandError: the person said no, or the old state cannot be kept.
    """
    writes = [step for step in steps if step.is_write]
    if call.dry_run:
        return [
            StepResult(step, WOULD_CHANGE, step.new) if step.is_write else _settled(step)
            for step in steps
        ]
    if writes and question is not None:
        await call.confirm(question)
    kept = [step for step in writes if step.target.is_kept]
    if any(step.old is not None for step in kept):
        call.keep_old_state(
            title, [*(step.target.saved(step.old) for step in kept), *also], undoes=undoes
        )
    if in_order:
        return await _in_order(steps)
    results = iter(await _written(writes))
    return [next(results) if step.is_write else _settled(step) for step in steps]


async def _in_order(steps: Sequence[ChangeStep[T]]) -> list[StepResult[T]]:
    """Do the steps one after the other; what comes after one that failed is not sent."""
    made: list[StepResult[T]] = []
    stopped = ""
    for step in steps:
        if step.is_write and stopped:
            made.append(StepResult(step, UNCHANGED, step.old, stopped))
            continue
        (result,) = await _written([step]) if step.is_write else [_settled(step)]
        made.append(result)
        if result.result in (REFUSED, UNREACHABLE):
            stopped = f"not sent, because {step.target.node.broker} was {result.result}"
    return made


def _settled(step: ChangeStep[T]) -> StepResult[T]:
    return StepResult(step, step.verdict or UNCHANGED, step.old, step.remark)


async def _written(steps: Sequence[ChangeStep[T]]) -> list[StepResult[T]]:
    """Write the value of each step and read back those that were taken."""
    failures = await _write(steps)
    taken = [step.target for step, no in zip(steps, failures, strict=True) if no is None]
    read = await _read(taken)
    now = iter(read)
    return [
        _checked(step, next(now)) if failure is None else _failed(step, failure)
        for step, failure in zip(steps, failures, strict=True)
    ]


async def _write(steps: Sequence[ChangeStep[T]]) -> list[ServerFailure | None]:
    """Write the value of each step, one kind after the other, and return why that failed."""
    failures: list[ServerFailure | None] = []
    for kind, run in groupby(steps, key=lambda step: type(step.target)):
        by_name = [[*named] for _, named in groupby(run, key=lambda step: step.target.names)]
        async for some in bounded_gather(by_name, _write_named, width=kind.width):
            failures += some
    return failures


async def _write_named(steps: Sequence[ChangeStep[T]]) -> list[ServerFailure | None]:
    # Servers are written one by one: if the first refuses, a person may still stop the rest.
    failures: list[ServerFailure | None] = []
    for step in steps:
        try:
            await step.target.write(step.new)
        except (ClientError, CommandError) as error:
            failures.append(ServerFailure(*result_of(error)))
        else:
            failures.append(None)
    return failures


def _checked(step: ChangeStep[T], value: T | ServerFailure | None) -> StepResult[T]:
    """Return how a write went, by what the server has now."""
    if isinstance(value, ServerFailure):
        return _failed(step, value)
    if step.target.same(value, step.new):
        return StepResult(step, CHANGED, value)
    return StepResult(
        step, REFUSED, value, "the server accepted the change, but its value is different"
    )


def _failed(step: ChangeStep[T], failure: ServerFailure) -> StepResult[T]:
    return StepResult(step, failure.result, step.old, failure.remark)


async def _read(targets: Sequence[ChangeTarget[T]]) -> list[T | ServerFailure | None]:
    """Return what each target is, or why that is unknown; a listing is read once for all of it."""
    by_listing: dict[Hashable, list[int]] = {}
    for index, target in enumerate(targets):
        key = target.listing_key if isinstance(target, ListedTarget) else index
        by_listing.setdefault(key, []).append(index)
    values: list[T | ServerFailure | None] = [None] * len(targets)

    async def read_together(indexes: list[int]) -> None:
        first = targets[indexes[0]]
        try:
            if isinstance(first, ListedTarget) and len(indexes) > 1:
                listing = await first.listing()
                for index in indexes:
                    # Targets of one listing are of one class.
                    values[index] = cast("ListedTarget[T, object]", targets[index]).find(listing)
            else:
                values[indexes[0]] = await first.read()
        except (ClientError, CommandError) as error:
            result, text = result_of(error)
            # A read leaves no doubt whether it was done, so the hint for writes is dropped.
            text = str(error) if isinstance(error, TimedOut) else text
            for index in indexes:
                values[index] = ServerFailure(result, text)

    await asyncio.gather(*(read_together(indexes) for indexes in by_listing.values()))
    return values


async def attempt(
    call: Call, ask: Callable[[], Awaitable[str | None]], *, success: str = CHANGED
) -> tuple[str, str | None]:
    """Send a request that needs no plan, and return its result and remark."""
    if call.dry_run:
        return WOULD_CHANGE, None
    try:
        return success, await ask()
    except ClientError as error:
        return result_of(error)


def first_of_names(names: Sequence[str]) -> str:
    """Return the first of some names and how many follow, for a title or a question."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return "".join(names[:1]) + more


def result_of(error: ClientError | CommandError) -> tuple[str, str]:
    """Return result and remark for a request that failed."""
    result = UNREACHABLE if error.exit_code == 4 else REFUSED
    text = str(error)
    hint = refusal_hint(text) or error.hint
    return result, f"{text}; {hint}" if hint else text
