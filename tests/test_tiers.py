"""Every test is in one tier, and a run says what it left out."""

import re
import sys
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from tests.conftest import MARKS
from tests.golden import REPOSITORY
from tests.programs import ran
from tests.tiers import (
    LONG,
    ROOMS_OF_KERNELS,
    ROOMS_OF_LOOPS,
    ROOMS_OF_WHOLES,
    Tier,
    is_below,
    place_of,
    runs_pure,
    summary,
)

CONTENT = """
import pytest

@pytest.mark.parametrize("seed", range(5))
def test_random(seed):
    assert {failing!r} != f"random {seed}"

@pytest.mark.soak
@pytest.mark.parametrize("seed", [0, 7])
def test_hours(seed):
    pass

def test_plain():
    pass
"""


def selects(expression: str, marks: frozenset[str]) -> bool:
    """Return whether ``pytest -m`` runs a test with these markers."""
    return Expression.compile(expression).evaluate(lambda name, **kwargs: name in marks)


def expression_of(target: str) -> str:
    """Return what a target of the Makefile gives to ``pytest -m``."""
    makefile = (REPOSITORY / "Makefile").read_text()
    command = rf"^{target}:.*\n\t.*(?:pytest|PYTEST\)) -m \"?([a-z ]+?)\"?(?: -n| \\|$)"
    found = re.search(command, makefile, re.MULTILINE)
    assert found is not None, target
    return found[1]


def test_every_collected_test_is_selected_by_exactly_one_tier(pytestconfig: pytest.Config) -> None:
    marks = pytestconfig.stash[MARKS]

    # Many tests have the same markers.
    tiers_of = {
        of_one: [tier for tier in Tier if selects(tier.expression, of_one)]
        for of_one in set(marks.values())
    }

    assert [node_id for node_id, of_one in marks.items() if len(tiers_of[of_one]) != 1] == []


@pytest.mark.parametrize(
    ("target", "tier"), [("short", Tier.SHORT), ("full", Tier.FULL), ("soak", Tier.SOAK)]
)
def test_makefile_selects_the_tier(target: str, tier: Tier) -> None:
    assert expression_of(target) == tier.expression


def test_makefile_repeats_short_tests_without_kernels() -> None:
    assert expression_of("pure") == f"pure and {Tier.SHORT.expression}"


@pytest.mark.parametrize("room", sorted(ROOMS_OF_KERNELS | ROOMS_OF_LOOPS | ROOMS_OF_WHOLES))
def test_a_room_that_is_repeated_has_tests(room: str) -> None:
    # The messages of the protocol are tested with the endpoint that reads them.
    room = room.removesuffix("/protocol")

    assert list((REPOSITORY / room).glob("test_*.py"))


@pytest.mark.parametrize(
    ("node_id", "repeated"),
    [
        ("tests/server/broker/send/test_a.py::test_b[x/y]", True),
        ("tests/server/proxy/http2/test_a.py::test_b", True),
        ("tests/remoting/test_a.py::test_b", True),
        ("tests/remoting/headers/test_a.py::test_b", False),
        ("tests/server/broker/acl/test_a.py::test_b", False),
        ("tests/mqclient/test_a.py::test_b", False),
    ],
)
def test_a_room_with_a_kernel_is_repeated_without_it(node_id: str, repeated: bool) -> None:
    assert runs_pure(node_id) is repeated


def test_ci_runs_the_short_and_the_full_tier() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()

    assert "exec make test-full" in (REPOSITORY / ".ci" / "run").read_text()
    assert re.search(r"^test: check short$", makefile, re.MULTILINE)
    full = re.search(r"^test-full: .*\n\t@(.*)$", makefile, re.MULTILINE)
    # All parts are run, and one that fails decides how it ends.
    assert full is not None
    assert full[1] == (
        "$(MAKE) test; first=$$?; $(MAKE) pure; second=$$?; $(MAKE) full "
        "&& exit $$((first + second))"
    )


@pytest.mark.parametrize("where", [where for long in LONG for where in (*long.where, *long.short)])
def test_what_the_table_names_is_there(where: str, pytestconfig: pytest.Config) -> None:
    collected = pytestconfig.stash[MARKS]
    path = where.partition("::")[0]

    assert (REPOSITORY / path).exists()
    # A run of a part of the tests knows the names of that part.
    if any(is_below(node_id, [path]) for node_id in collected):
        assert any(is_below(node_id, [where]) for node_id in collected)


@pytest.mark.parametrize(
    ("node_id", "marks", "arguments", "tier"),
    [
        ("tests/server/test_a.py::test_b", [], {}, Tier.SHORT),
        ("tests/server/test_a.py::test_b[0]", [], {"seed": 0}, Tier.SHORT),
        ("tests/server/test_a.py::test_b[2]", [], {"seed": 2}, Tier.FULL),
        ("tests/server/test_a.py::test_b[2]", ["soak"], {"seed": 2}, Tier.SOAK),
        ("tests/interop/test_acl.py::test_b", ["java"], {}, Tier.FULL),
        ("tests/interop/test_acl.py::test_b", ["java", "soak"], {}, Tier.SOAK),
        ("tests/interop/test_our_client.py::test_b[java]", ["java"], {}, Tier.SHORT),
        ("tests/interop/test_our_client_groups.py::test_b", ["java"], {}, Tier.FULL),
        ("tests/mqspark/test_a.py::test_b", ["spark"], {}, Tier.FULL),
        ("tests/mqspark/test_a.py::test_b", [], {}, Tier.SHORT),
        ("tests/mqspark/jobs/test_timeline.py::test_b", ["spark"], {}, Tier.FULL),
        (
            "tests/mqspark/sources/store/test_source.py::test_a_row_a_message_equal_to_what_java_decoded",
            ["spark"],
            {},
            Tier.SHORT,
        ),
    ],
)
def test_tier_of_a_test(
    node_id: str, marks: list[str], arguments: dict[str, object], tier: Tier
) -> None:
    assert place_of(node_id, marks, arguments).tier is tier


@pytest.mark.parametrize("processes", ["0", "2"])
@pytest.mark.parametrize("failing", ["", "random 1"])
def test_a_run_of_a_tier_says_what_it_left_out(
    tmp_path: Path, processes: str, failing: str
) -> None:
    file = tmp_path / "tests" / "test_a.py"
    file.parent.mkdir()
    file.write_text(CONTENT.replace("{failing!r}", repr(failing)))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = full\n    soak\n    spark\n")
    words = [sys.executable, "-m", "pytest", "-q", "-n", processes, "-p", "tests.conftest"]
    words += ["-p", "no:cacheprovider", f"--rootdir={tmp_path}", "-m", Tier.SHORT.expression]
    env = {"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin"}

    done = ran(*words, "tests", code=int(bool(failing)), cwd=tmp_path, env=env)

    left_out = """\
left out, run by `make test-full`: 3 tests
       3  further seeds of random tests
left out, run by `make soak`: 2 tests
       2  long runs, and tests of very many cases
"""
    assert left_out in done.stdout
    closing_line = done.stdout.splitlines()[-1]
    assert ("1 failed, 2 passed" if failing else "3 passed") in closing_line


def test_a_whole_run_leaves_nothing_out() -> None:
    assert summary({}) == []
