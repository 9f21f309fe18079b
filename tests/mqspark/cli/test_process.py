"""A job as a process: its arguments and its end; Spark is not started."""

import json

import pytest

from mqspark.cli.process import LOCAL_SIZE, given_options, hint_at_local, parser_of, run_to_end
from mqspark.errors import BadOption


def end_with(error: Exception) -> int:
    def run() -> None:
        raise error

    return run_to_end(run, known=(BadOption, OSError))


def test_options_are_told_apart_at_their_first_equals_sign() -> None:
    options = parser_of("job", None, ["stats"]).parse_args(
        ["stats", "--option", "body=a=b", "--option", "topic=orders"]
    )

    assert given_options(options) == {"body": "a=b", "topic": "orders"}


def test_a_job_that_ends_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_to_end(lambda: None, known=()) == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("error", "code"), [(BadOption("no such"), 2), (OSError("no disk"), 1)])
def test_an_error_of_ours_is_one_line_and_its_exit_code(
    error: Exception, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert end_with(error) == code
    told = capfd.readouterr()
    assert told.out == ""
    assert json.loads(told.err) == {"error": str(error)}


@pytest.mark.parametrize(
    ("master", "size", "hints"),
    [("local[2]", 3 << 30, True), ("local[2]", LOCAL_SIZE, False), ("yarn", 1, False)],
)
def test_where_the_local_engine_is_faster_it_is_told(
    master: str, size: int, hints: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    hint_at_local(master, size)

    told = capfd.readouterr().err
    assert bool(told) == hints
    if hints:
        assert json.loads(told)["hint"] == (
            "3.0 GiB on one machine: --engine local gives the same and is faster below 20 GiB"
        )


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(LookupError, match="a bug"):
        end_with(LookupError("a bug"))
