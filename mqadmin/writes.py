"""A write that tells the truth: plan, ask, keep the old state, write, read back.

    things --read--> steps (old, new) --confirm--> journal --> write --> read back
                       | nothing differs                          |= new: changed
                       v                                          |else: refused
                     unchanged                                    v
                                                                 done

Rule: what is overwritten or removed is kept first; what is made new needs no keeping. Where
one server fails the others are still asked, and the rows say which is which;
with ``--dry-run`` nothing is asked, kept or written.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from mqadmin.call import Call
from mqadmin.errors import CommandError, Unreachable
from mqadmin.journal import Saved
from mqadmin.rows import CHANGED, REFUSED, UNCHANGED, UNREACHABLE, WOULD_CHANGE
from mqadmin.things.base import Thing
from mqclient.errors import ClientError

T = TypeVar("T")


class Declined(Exception):
    """A plan ends at one server before anything is sent, with this result."""

    def __init__(self, result: str, remark: str | None = None) -> None:
        super().__init__(result)
        self.result = result
        self.remark = remark


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """What one thing is and shall be; None is "not there".

    Attributes:
        verdict: a result that is known before anything is sent, or empty.
        is_blind: written in any case, because the server hides what it has.
    """

    thing: Thing[T]
    old: T | None
    new: T | None
    verdict: str = ""
    remark: str | None = None
    is_blind: bool = False

    def untyped(self) -> "Step[object]":
        """Return the step for a list with steps of other things."""
        return cast("Step[object]", self)

    @property
    def is_write(self) -> bool:
        """Return whether something has to be written."""
        differs = self.is_blind or not self.thing.same(self.old, self.new)
        return differs and not self.verdict


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """How a step went; ``value`` is what the server has now."""

    step: Step[T]
    result: str
    value: T | None
    remark: str | None = None


async def plan(things: Sequence[Thing[T]], choose: Callable[[T | None], T | None]) -> list[Step[T]]:
    """Read every thing and work out what it shall be.

    Args:
        choose: given what is there, returns what shall be, or raises ``Declined``.

    Raises:
        Unreachable: no server answered at all.
    """
    steps = list(await asyncio.gather(*(_step(thing, choose) for thing in things)))
    if steps and all(step.verdict == UNREACHABLE for step in steps):
        raise Unreachable("; ".join(sorted({step.remark or "" for step in steps})))
    return steps


async def _step(thing: Thing[T], choose: Callable[[T | None], T | None]) -> Step[T]:
    try:
        old = await thing.read()
    except (ClientError, CommandError) as error:
        result, remark = result_of(error)
        return Step(thing, None, None, result, remark)
    try:
        return Step(thing, old, choose(old))
    except Declined as no:
        return Step(thing, old, old, no.result, no.remark)


async def carry_out(
    call: Call,
    steps: Sequence[Step[T]],
    *,
    title: str,
    question: str | None = None,
    also: Sequence[Saved] = (),
    undoes: int | None = None,
) -> list[Done[T]]:
    """Do what the steps say and return how each went.

    Args:
        title: what the journal calls it: the command and what it names, no secrets.
        also: what goes with the things without a step of its own, for the journal.
        question: asked before the first write; None for one that a person just undoes.

    Raises:
        Usage: nobody is there to be asked.
        CommandError: the person said no, or the old state cannot be kept.
    """
    writes = [step for step in steps if step.is_write]
    if call.dry_run:
        return [
            Done(step, WOULD_CHANGE, step.new) if step.is_write else _settled(step)
            for step in steps
        ]
    if writes and question is not None:
        await call.confirm(question)
    kept = [step for step in writes if step.thing.is_kept]
    if any(step.old is not None for step in kept):
        call.keep(title, [*(step.thing.saved(step.old) for step in kept), *also], undoes=undoes)
    # One after the other: when the first server refuses, a person may still stop the rest.
    return [await _write(step) if step.is_write else _settled(step) for step in steps]


def _settled(step: Step[T]) -> Done[T]:
    return Done(step, step.verdict or UNCHANGED, step.old, step.remark)


async def _write(step: Step[T]) -> Done[T]:
    try:
        await step.thing.write(step.new)
        found = await step.thing.read()
    except (ClientError, CommandError) as error:
        return Done(step, *_failed(error, step.old))
    if step.thing.same(found, step.new):
        return Done(step, CHANGED, found)
    return Done(step, REFUSED, found, "the server took it, but has something else")


def _failed(error: ClientError | CommandError, old: T | None) -> tuple[str, T | None, str]:
    result, remark = result_of(error)
    return result, old, remark


def result_of(error: ClientError | CommandError) -> tuple[str, str]:
    """Return result and remark for a request that failed."""
    result = UNREACHABLE if error.exit_code == 4 else REFUSED
    text = str(error)
    return result, f"{text}; {error.hint}" if error.hint else text
