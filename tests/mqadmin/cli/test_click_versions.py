"""The command line works with every click from 8.1 on, since it uses only what click documents."""

import ast
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from mqadmin.cli.command import Command, CommandParser
from mqadmin.cli.options import Argument, LineParser
from mqadmin.cli.parse import CommandGroup
from mqadmin.cli.types import Choice, Integer, TextType
from mqadmin.completion.tab import BashTab
from tests.golden import REPOSITORY
from tests.programs import absent, ran

OLDEST = "click==8.1.0"
DOCUMENTED = {"click", "click.core", "click.shell_completion"}
"""Modules of click that its documentation names, for what we import of them."""
ROOMS = (
    "tests/mqadmin/cli",
    "tests/mqadmin/completion",
    "tests/mqadmin/shell/test_complete.py",
    "tests/mqadmin/shell/test_validity.py",
)


PRIVATE = {
    name
    for module in (click.core, click.decorators, click.parser, click.shell_completion, click.types)
    for made in vars(module).values()
    if isinstance(made, type) and made.__module__.startswith("click.")
    for name in (*vars(made), *getattr(made, "__annotations__", ()))
    if name.startswith("_") and not name.startswith("__")
} - {"_abc_impl"} | {"_opt_prefixes", "_protected_args", "_depth", "_close_callbacks"}
"""Names that classes of click keep to themselves."""


def is_private(name: str) -> bool:
    return name.startswith("_")


def private_uses(tree: ast.Module) -> Iterator[str]:
    """Yield what a module uses of click that click does not document."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "click":
            names = [alias.name for alias in node.names]
            if node.module not in DOCUMENTED or any(map(is_private, names)):
                yield f"line {node.lineno}: from {node.module} import {', '.join(names)}"
        elif isinstance(node, ast.Attribute) and node.attr in PRIVATE:
            yield f"line {node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Constant) and node.value == "__click_params__":
            yield f"line {node.lineno}: {node.value}"


@pytest.mark.parametrize("room", ["cli", "completion", "commands"])
def test_nothing_private_of_click_is_used(room: str) -> None:
    used = {
        f"{path.relative_to(REPOSITORY)}: {found}"
        for path in sorted((REPOSITORY / "mqadmin" / room).rglob("*.py"))
        if "click" in (text := path.read_text())
        for found in private_uses(ast.parse(text))
    }

    assert used == set()


def test_private_uses_are_noticed() -> None:
    imports = "from click.parser import Option\nfrom click.core import _x\n"
    text = imports + "ctx._protected_args\nself._ours\n"

    assert len(list(private_uses(ast.parse(text)))) == 3


@pytest.mark.parametrize(
    "ours", [Command, CommandGroup, Argument, TextType, Choice, Integer, BashTab], ids=repr
)
def test_private_names_of_ours_are_none_of_clicks(ours: type) -> None:
    bases = [base for base in ours.__mro__ if base.__module__.partition(".")[0] == "click"]
    own = {
        name
        for base in ours.__mro__
        if base.__module__.startswith("mqadmin")
        for name in vars(base)
        if is_private(name)
    }

    assert bases
    assert own & PRIVATE == set()


def test_the_parser_of_lines_is_our_own() -> None:
    assert LineParser.__mro__[1:] == (object,)
    assert CommandParser.__mro__[1] is LineParser
    assert not hasattr(click, "LineParser")


def test_the_oldest_click_runs_the_tests_of_the_command_line(tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-q")
    line = ("--no-deps", "--target", tmp_path / "click", OLDEST)
    done = ran(*pip, *line, code=None)
    if done.returncode:
        absent(f"{OLDEST} cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    env = os.environ | {"PYTHONPATH": str(tmp_path / "click")}
    this = "tests/mqadmin/cli/test_click_versions.py"

    pytest_here = (sys.executable, "-m", "pytest", "-q", "-n", "2", f"--ignore={this}")
    tested = ran(*pytest_here, *ROOMS, code=None, env=env)

    version = ran(sys.executable, "-c", "import click; print(click.__file__)", env=env).stdout
    assert version.startswith(str(tmp_path))
    assert tested.returncode == 0, tested.stdout
