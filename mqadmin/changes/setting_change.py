"""Change one text on servers: the row of a change, and the check of a new value.

Rule: a new value must be of the same kind as the present one (true or false, a whole number, or one
of the known words), because Java servers silently accept anything.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from mqadmin.changes.targets.setting import SettingTarget
from mqadmin.changes.write import Choose, Declined, StepResult, carry_out, plan
from mqadmin.errors import Usage, did_you_mean
from mqadmin.output.rows import NOT_FOUND, Outcome, Row, exit_code_of
from mqadmin.session.call import Call

WORDS: Final[dict[str, tuple[str, ...]]] = {
    "flushDiskType": ("SYNC_FLUSH", "ASYNC_FLUSH"),
    "brokerRole": ("ASYNC_MASTER", "SYNC_MASTER", "SLAVE"),
}


@dataclass(frozen=True, slots=True)
class SettingChange(Row):
    """A setting on one server before and after the call."""

    server: str
    address: str
    key: str
    old_value: str | None
    value: str | None
    result: str
    remark: str | None


def choose_value(value: str, *, key: str, known_keys: Collection[str]) -> Choose[str]:
    """Return a function that chooses the new value if a server has the setting.

    Args:
        known_keys: the settings that the servers have.
    """

    def choose(old: str | None) -> str:
        if old is None:
            raise Declined(NOT_FOUND, did_you_mean(key, known_keys, "") or None)
        _check_value(key, old, value)
        return value

    return choose


def _check_value(key: str, old: str, value: str) -> None:
    """Check that a value is of the same kind as the old one.

    Raises:
        Usage: it does not.
    """
    expected = ""
    if key in WORDS:
        expected = "" if value in WORDS[key] else " or ".join(WORDS[key])
    elif old in {"true", "false"}:
        expected = "" if value in {"true", "false"} else "true or false"
    elif old.removeprefix("-").isdecimal() and not value.removeprefix("-").isdecimal():
        expected = f"a whole number, such as {old}"
    if expected:
        raise Usage(f"{key}: {value!r} is not a valid value", hint=f"expected {expected}")


def row_of(step_result: StepResult[str], remark: str | None = None) -> SettingChange:
    """Return the row of a step whose target is text."""
    return SettingChange.of(
        step_result,
        server=step_result.broker,
        key=step_result.target.names[-1],
        old_value=step_result.step.old,
        remark=step_result.remark or remark,
    )


def outcome_of(results: Sequence[StepResult[str]]) -> Outcome:
    """Return the rows of steps whose target is text."""
    rows = [row_of(result) for result in results]
    return Outcome(rows, exit_code=exit_code_of(row.result for row in rows))


async def set_on_each(
    call: Call, targets: Sequence[SettingTarget], key: str, value: str, *, title: str, servers: str
) -> Outcome:
    """Change one setting on several servers, and return one row for each.

    Args:
        call: the command.
        targets: the setting on each server.
        key: the name of the setting.
        value: the new value.
        title: the command, without the key.
        servers: what the servers are called in the question.

    Raises:
        Usage: the value is of another kind than the present one.
    """
    known_keys: set[str] = set()
    for target in targets:
        known_keys.update(await target.settings())
    steps = await plan(targets, choose_value(value, key=key, known_keys=known_keys))
    results = await carry_out(
        call,
        steps,
        title=f"{title} {key}",
        question=f"set {key} to {value!r} on {len(targets)} {servers}?",
    )
    return outcome_of(results)
