"""The file of named contexts, changed: what ``context add``, ``use`` and ``remove`` share."""

from collections.abc import Callable
from dataclasses import dataclass

from mqadmin.output.rows import CHANGED, UNCHANGED, WOULD_CHANGE, Outcome, Row
from mqadmin.session.call import Call
from mqadmin.session.contexts import ContextFile, Contexts


@dataclass(frozen=True, slots=True)
class ContextChange(Row):
    """What became of a context; ``was`` is the one that was current before."""

    context: str
    namesrv: str
    was: str | None
    result: str


def change_contexts(call: Call, name: str, choose: Callable[[Contexts], Contexts]) -> Outcome:
    """Write what is chosen, and return what became of the context ``name``.

    Args:
        choose: is given what the file says; it returns what it shall say, or raises.
    """
    file = ContextFile.of(call.console.env)
    known = file.load()
    fresh = choose(known)
    result = WOULD_CHANGE if call.dry_run else CHANGED
    if fresh == known:
        result = UNCHANGED
    elif not call.dry_run:
        file.save(fresh)
    context = {**known.contexts, **fresh.contexts}[name]
    return Outcome((ContextChange(name, context.namesrv, known.current, result),))
