"""The commands of ``mqadmin pipeline`` and the jobs name each other's options.

``mqadmin`` never imports ``mqspark``, so both sides declare the options; this holds them together.
"""

import io
import shlex
from collections.abc import Mapping

import pytest

from mqadmin.cli import tree
from mqadmin.cli.command import ParsedLine
from mqadmin.cli.parse import load, parse
from mqadmin.output.rows import Outcome
from mqadmin.session.call import Call, Workplace
from mqadmin.session.console import Console
from mqadmin.session.global_options import GlobalOptions
from mqadmin.store_access import spark_job
from mqspark.cli import live_jobs
from mqspark.cli.registry import JOBS

LIVE_COMMANDS = {
    "archive": "archive",
    "restore": "restore",
    "compact": "archive compact",
    "expire": "archive expire",
    "clean": "archive clean",
}


def test_every_job_has_a_command_and_every_command_a_job() -> None:
    jobs = {name.replace("-", " ") for name in JOBS} | set(LIVE_COMMANDS.values())
    commands = {name.removeprefix("pipeline ") for name in tree.COMMANDS if "pipeline " in name}

    assert commands == jobs
    assert set(live_jobs.JOBS) == set(LIVE_COMMANDS)


@pytest.mark.parametrize("job", list(JOBS))
def test_command_sets_exactly_the_options_of_its_job(
    job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: dict[str, Mapping[str, object]] = {}

    def note(
        _: Call, name: str, *__: object, options: Mapping[str, object], **___: object
    ) -> Outcome:
        passed[name] = options
        return Outcome(iter(()))

    monkeypatch.setattr(spark_job, "_run_process", note)
    command = load(f"pipeline {job.replace('-', ' ')}")
    parsed = parse(shlex.split(command.examples[0][0].partition(" > ")[0])[1:])
    assert isinstance(parsed, ParsedLine)

    console = Console(io.StringIO(), io.StringIO(), io.StringIO(), False, False, {})
    call = Call(GlobalOptions(), console, Workplace(), parsed.store)
    command.run(call, **parsed.values)

    assert set(passed) == {job}
    assert set(passed[job]) == {option.name for option in JOBS[job].options}
