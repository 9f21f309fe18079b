"""README: its commands run from top to bottom, and its figures stand in the pages they name."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mqserver.pytest_plugin import RocketMQ
from tests.golden import REPOSITORY
from tests.programs import ran
from tests.test_howtos import clean_environment

README = (REPOSITORY / "README.md").read_text()
SUMMARY = (REPOSITORY / "docs" / "benchmarks.md").read_text().partition("\n## Broker\n")[0]
"""The part of the page of measurements that repeats figures of other parts and pages."""
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
MEASURED = re.compile(r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \| `([^`]+)` \|$", re.MULTILINE)
INSTEAD = {
    "make test ": "make .venv/.dev # the suite does not run itself;",
    ".venv/bin/mqnamesrv ": ".venv/bin/mqnamesrv -p",
    "-c broker.conf": "-c broker.conf -p",
}
"""What would not end, and what stands for it."""


def linked_copy(directory: Path) -> None:
    """Fill a directory with our tree and with this interpreter's environment as ``.venv``."""
    directory.mkdir()
    for path in REPOSITORY.iterdir():
        if path.name != ".venv":
            (directory / path.name).symlink_to(path)
    environment = directory / ".venv"
    environment.mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (environment / name).symlink_to(Path(sys.prefix) / name)
    # For make, everything is installed.
    for name in ("python", ".shell", ".dev"):
        (environment / name).touch()


def fresh_clone(directory: Path) -> None:
    """Clone what is committed; everything is installed by README's own commands."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this tree is no clone of a repository")
    subprocess.run(["git", "clone", "-q", REPOSITORY, directory], check=True)


@pytest.mark.parametrize("made", [linked_copy, pytest.param(fresh_clone, marks=pytest.mark.soak)])
def test_the_commands_run_from_top_to_bottom(
    rocketmq_broker_fresh: RocketMQ, tmp_path: Path, made: Callable[[Path], None]
) -> None:
    directory = tmp_path / "checkout"
    made(directory)
    (directory / "broker.conf").touch()
    namesrv = rocketmq_broker_fresh.namesrv
    places = {"10.0.0.1:9876": namesrv, "/data/rocketmq/store": str(rocketmq_broker_fresh.store)}
    first = (
        "mqadmin shell -c \"topic create orders; message send orders 'order 1' --key o-1;"
        ' offset reset billing orders --to latest -y"\n'
    )
    script = first + "\n".join(SHELL.findall(README))
    for words, instead in (places | INSTEAD).items():
        assert words in script, words
        script = script.replace(words, instead)

    env = {**clean_environment(tmp_path), "NAMESRV_ADDR": namesrv}

    ran("bash", "-e", "-x", "-c", script, cwd=directory, env=env)


def test_every_row_of_the_readme_stands_in_the_summary_of_the_measurements() -> None:
    rows = MEASURED.findall(README)

    assert len(rows) == 3
    assert set(rows) <= set(MEASURED.findall(SUMMARY))


@pytest.mark.parametrize("row", MEASURED.findall(SUMMARY), ids=lambda row: f"{row[0]}-{row[1]}")
def test_every_figure_stands_in_a_page_with_its_measurement(row: tuple[str, str, str]) -> None:
    *figures, command = row
    docs = REPOSITORY / "docs"
    lines = [
        line
        for name in ("benchmarks.md", "reliability.md", "parity.md")
        for line in (docs / name).read_text().splitlines()
        if not MEASURED.match(line)
    ]

    program = re.match(r"python -m ([\w.]+)|make (\w+)", command)
    assert program is not None
    if program[1]:
        path = REPOSITORY / program[1].replace(".", os.sep)
        assert path.is_dir() or path.with_suffix(".py").is_file()
    else:
        assert re.search(rf"^{program[2]}:", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    for figure in figures:
        assert any(re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d.])", line) for line in lines)
