"""Settings of RocksDB as Java's tool of 5.4.0 printed them of the same directory."""

from typing import Any

import pytest

from mqadmin.output.compat.java_text import Line
from mqadmin.output.compat.layouts import layout_of
from tests.golden import Golden
from tests.mqadmin.conftest import Run

COMMAND = "store rocksdb"


def lines(golden: Golden) -> list[dict[str, Any]]:
    return golden.expected("rocksdb")["lines"]


@pytest.mark.parametrize("number", range(8))
def test_a_line_prints_what_java_prints(run: Run, golden: Golden, number: int) -> None:
    said = lines(golden)[number]
    name, _, table, *more = said["words"]
    config = golden.family("rocksdb", "separate") / "config"
    flags = dict(zip((word.lstrip("-") for word in more[::2]), more[1::2], strict=True))

    records = run.rows(*COMMAND.split(), str(config), table)
    named = COMMAND if name == "rocksDBConfigToJson" else name
    layout = layout_of(COMMAND, Line(named, {}, flags))

    assert "".join(layout(records)) == said["stdout"]


def test_a_line_about_a_directory_needs_the_kind(run: Run, golden: Golden) -> None:
    config = golden.family("rocksdb", "separate") / "config"

    done = run("rocksDBConfigToJson", "-p", str(config))

    assert done.exit_code == 2
    assert "rocksDBConfigToJson needs -t/--configType" in done.err


def test_all_lines_are_compared(golden: Golden) -> None:
    assert len(lines(golden)) == 8


@pytest.mark.parametrize("number", range(8))
def test_the_names_of_java_print_the_same(run: Run, golden: Golden, number: int) -> None:
    said = lines(golden)[number]
    name, *more = said["words"]
    config = golden.family("rocksdb", "separate") / "config"

    done = run(name, "-p", str(config), *more, "--compat")

    assert (done.exit_code, done.out) == (0, said["stdout"])
