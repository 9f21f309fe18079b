"""The pages of docs/howto: each is run, and prints what it says.

    MQ_WRITE_HOWTOS=1 pytest tests/test_howtos.py     writes what the commands print into the pages

The blocks ``sh`` of a page run in order in one bash, which ends at the first command that fails. A
block ``text`` holds what the block before it prints, on both outputs. Addresses, ids and times
differ from run to run; they are replaced by the same ones each time.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mqserver.pytest_plugin import RocketMQ
from tests.golden import REPOSITORY, Golden
from tests.mqadmin.test_tour import SAME
from tests.ports import free_ports

DIRECTORY = REPOSITORY / "docs" / "howto"
BLOCK = re.compile(r"```sh\n(?P<code>.*?)```\n(?:\n```text\n(?P<said>.*?)```\n)?", re.DOTALL)
VARIABLE = (
    *SAME,
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d", "2026-11-21 10:00:00+00:00"),
    (r"\b\d+\.\d+s\b", "0.42s"),
    (r"(?m)^(files|bytes|seconds): +[\d.]+$", r"\1: …"),
)
WAIT_S = 300
PAGES = (
    "archive-with-spark.md",
    "find-a-lost-message.md",
    "move-a-consumer-group.md",
    "night-shift.md",
    "recover-a-broken-store.md",
    "rehearse-an-offset-reset.md",
    "test-a-service-in-ci.md",
)
"""The pages that need nothing but a broker; tests/interop runs those with Java."""


def outputs(page: str, directory: Path, env: dict[str, str]) -> list[str]:
    """Run the commands of a page and return what each block printed.

    Args:
        page: its text.
        directory: where the commands run; empty, or with what the page counts on.
        env: further variables of the environment.
    """
    logs = directory.parent / f"{directory.name}-said"
    logs.mkdir()
    # A pytest that a page runs looks for its settings here, and in no folder above.
    (directory.parent / "pytest.ini").touch()
    codes = [block["code"] for block in BLOCK.finditer(page)]
    script = [f"exec >{logs}/{number} 2>&1\n{code}" for number, code in enumerate(codes)]
    done = subprocess.run(
        ["bash", "-e", "-u", "-o", "pipefail", "-c", "\n".join(script)],
        cwd=directory,
        env={**clean_environment(directory), **env},
        stdin=subprocess.DEVNULL,
        timeout=WAIT_S,
        check=False,
    )
    said = [(logs / str(number)).read_text() for number in range(len(list(logs.iterdir())))]
    assert done.returncode == 0, f"the page ended in:\n{codes[len(said) - 1]}\nwith:\n{said[-1]}"
    return said


def clean_environment(home: Path) -> dict[str, str]:
    """Return the environment of a user with an empty home and our programs on the path."""
    kept = {name: os.environ[name] for name in ("LANG", "JAVA_HOME") if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "PYTHONPATH": str(REPOSITORY), "HOME": str(home)}


def with_outputs(page: str, said: list[str]) -> str:
    """Return a page whose blocks ``text`` hold what was printed."""
    numbers = iter(range(len(said)))

    def filled(block: re.Match[str]) -> str:
        text = said[next(numbers)]
        if block["said"] is None:
            return block[0]
        for pattern, instead in VARIABLE:
            text = re.sub(pattern, instead, text)
        lines = "\n".join(line.rstrip() for line in text.rstrip().splitlines())
        return f"```sh\n{block['code']}```\n\n```text\n{lines}\n```\n"

    return BLOCK.sub(filled, page)


def without_widths(page: str) -> str:
    """Return a page without the widths of its columns: a longer address makes one wider."""
    return re.sub(r" {2,}|-{2,}", "  ", page)


def check_page(name: str, directory: Path, env: dict[str, str]) -> None:
    """Run a page and compare it with what its commands print."""
    path = DIRECTORY / name
    page = path.read_text()
    made = with_outputs(page, outputs(page, directory, env))
    if os.environ.get("MQ_WRITE_HOWTOS"):
        path.write_text(made)
        page = made
    assert without_widths(page) == without_widths(made), "MQ_WRITE_HOWTOS=1 writes the page anew"


@pytest.mark.parametrize("name", PAGES)
def test_the_page_prints_what_it_says(
    name: str, rocketmq_broker_fresh: RocketMQ, tmp_path: Path
) -> None:
    directory = tmp_path / "here"
    directory.mkdir()

    check_page(name, directory, {"NAMESRV_ADDR": rocketmq_broker_fresh.namesrv})


def test_the_page_of_the_upgrade_prints_what_it_says(
    golden: Golden, rocketmq_broker: RocketMQ, tmp_path: Path
) -> None:
    directory = tmp_path / "here"
    directory.mkdir()
    golden.store("basic").rename(directory / "before")
    golden.store("v5").rename(directory / "after")

    check_page("upgrade-to-5.md", directory, {"NAMESRV_ADDR": rocketmq_broker.namesrv})


def test_the_page_of_the_group_prints_what_it_says(tmp_path: Path) -> None:
    directory, port = tmp_path / "here", free_ports(14)
    directory.mkdir()
    # Each broker also listens on the port after its own, and two below it.
    ports = {f"PORT_{name}": str(port + 4 + 4 * number) for number, name in enumerate("ABC")}
    addresses = {"NAMESRV_ADDR": f"127.0.0.1:{port}", "CONTROLLER": f"127.0.0.1:{port + 1}"}

    check_page("pair-to-group.md", directory, {**addresses, **ports})


def test_every_page_is_run() -> None:
    run_here = {
        *PAGES, "pair-to-group.md", "upgrade-to-5.md", "replace-a-java-broker.md", "README.md",
        "night-shift-5.md",
    }  # fmt: skip

    assert {path.name for path in DIRECTORY.iterdir()} == run_here
