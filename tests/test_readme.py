"""README: its commands run from top to bottom, and its figures stand in the pages they name."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from server.pytest_plugin import RocketMQ
from tests.test_howtos import clean_environment

REPOSITORY = Path(__file__).resolve().parent.parent
README = (REPOSITORY / "README.md").read_text()
SHELL = re.compile(r"```sh\n(.*?)```", re.DOTALL)
MEASURED = re.compile(r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \| `([^`]+)` \|$", re.MULTILINE)
INSTEAD = {
    "make test ": "# the suite does not run itself;",
    ".venv/bin/mqnamesrv ": ".venv/bin/mqnamesrv -p",
    "-c broker.conf": "-c broker.conf -p",
}
"""What would not end, and what stands for it."""


def checkout(directory: Path) -> Path:
    """Return a directory with our tree and with this interpreter's environment as ``.venv``."""
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
    return directory


def test_the_commands_run_from_top_to_bottom(
    rocketmq_broker_fresh: RocketMQ, tmp_path: Path
) -> None:
    directory = tmp_path / "checkout"
    directory.mkdir()
    (checkout(directory) / "broker.conf").touch()
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

    done = subprocess.run(
        ["bash", "-e", "-x", "-c", script],
        cwd=directory,
        env={**clean_environment(tmp_path), "NAMESRV_ADDR": namesrv},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("row", MEASURED.findall(README), ids=lambda row: f"{row[0]}-{row[1]}")
def test_every_figure_stands_in_a_page_with_its_measurement(row: tuple[str, str, str]) -> None:
    *figures, command = row
    docs = REPOSITORY / "docs"
    lines = [
        line
        for name in ("benchmarks.md", "reliability.md", "parity.md")
        for line in (docs / name).read_text().splitlines()
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
