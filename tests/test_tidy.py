"""The house rules that a machine can hold: sizes, names, and what must not be swallowed."""

import ast
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from setuptools import find_packages

from tests.golden import REPOSITORY
from tests.packages import PACKAGES, module_parts

SOURCES = [
    path
    for folder in (*PACKAGES.values(), "tests", "benchmarks", "docs", "examples")
    for path in sorted((REPOSITORY / folder).rglob("*.py"))
    # Programs of other languages are built there, and one in Python has its packages there; the
    # recipe of the captured frames is kept as it ran.
    if not {"target", "node_modules", "captures"} & set(path.parts)
]
BANNED_NAMES = {"util", "utils", "common", "helper", "helpers", "manager", "misc", "core"}
LINES_MAX = 600
FUNCTION_LINES_MAX = 60
DEPTH_MAX = 4


SHARED_CLASS_NAMES = {
    "BadCall": "a caller's mistake, in the error tree of storefmt and in that of remoting",
    "Command": "RocketMQ's remoting command, and a command of the toolkit as click names it",
}
"""Class names that two packages have, and why; every other name stands for one class."""
PROTOBUF_ROOM = "server/mqserver/proxy/protocol"
"""Its classes have the names of RocketMQ's protobuf messages."""


class Source(NamedTuple):
    """A module, read and parsed once for all rules.

    Attributes:
        path: where it is.
        text: what it holds.
        nodes: its syntax tree, all levels; the first one is the module.
    """

    path: Path
    text: str
    nodes: list[ast.AST]

    @property
    def module(self) -> ast.Module:
        """The root of the syntax tree."""
        (module,) = (node for node in self.nodes[:1] if isinstance(node, ast.Module))
        return module


class Scan(NamedTuple):
    """What one pass over all modules finds.

    Attributes:
        findings: what breaks a rule, by the name of the rule.
        class_places: the modules that have a public class, by its name.
    """

    findings: dict[str, list[str]]
    class_places: dict[str, list[str]]


def in_packages() -> Iterator[Path]:
    return (path for path in SOURCES if module_parts(path))


def test_there_are_sources_to_check() -> None:
    assert {module_parts(path)[0] for path in in_packages()} == set(PACKAGES)


def test_every_package_is_installed() -> None:
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())

    packages = {
        ".".join(module_parts(path.parent)) for path in in_packages() if path.name == "__init__.py"
    }

    find = declared["tool"]["setuptools"]["packages"]["find"]
    installed = {
        package
        for folder in find["where"]
        for package in find_packages(str(REPOSITORY / folder), include=find["include"])
    }
    assert installed == packages


def test_nothing_reads_data_beside_the_checkout() -> None:
    texts = [*SOURCES, REPOSITORY / "Makefile", REPOSITORY / ".ci" / "run", REPOSITORY / "setup.py"]
    outside = ["../" + "shared", "MQ_" + "SHARED"]

    readers = [path for path in texts for name in outside if name in path.read_text()]

    assert readers == []


def test_no_page_holds_an_unfinished_merge() -> None:
    pages = [REPOSITORY / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    pages += sorted((REPOSITORY / "docs").rglob("*.md"))

    found = [
        f"{page.relative_to(REPOSITORY)}: {line}"
        for page in pages
        for line in page.read_text().splitlines()
        if line.startswith(("<<<<<<< ", ">>>>>>> "))
    ]

    assert found == []


@pytest.fixture(scope="module")
def scan() -> Scan:
    """Return what all rules find. A tree is dropped before the next file is parsed."""
    scan = Scan({rule.__name__: [] for rule in RULES}, {})
    for path in SOURCES:
        text = path.read_text()
        source = Source(path, text, list(ast.walk(ast.parse(text))))
        for rule in RULES:
            scan.findings[rule.__name__] += rule(source)
        place = str(path.relative_to(REPOSITORY))
        if module_parts(path) and not place.startswith(PROTOBUF_ROOM):
            for name in public_classes(source):
                scan.class_places.setdefault(name, []).append(place)
    return scan


def public_classes(source: Source) -> Iterator[str]:
    for node in source.module.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def test_a_public_class_name_stands_for_one_class(scan: Scan) -> None:
    shared = {name: places for name, places in scan.class_places.items() if len(places) > 1}

    assert shared.keys() == SHARED_CLASS_NAMES.keys(), shared


def too_long(source: Source) -> Iterator[str]:
    count = len(source.text.splitlines())
    if count > LINES_MAX:
        yield f"{source.path}: {count} lines, at most {LINES_MAX}"


def long_functions(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count = (node.end_lineno or node.lineno) - node.lineno + 1
            if count > FUNCTION_LINES_MAX:
                yield f"{source.path}:{node.lineno}: {node.name} has {count} lines"


def banned_names(source: Source) -> Iterator[str]:
    for part in source.path.relative_to(REPOSITORY).with_suffix("").parts:
        if part in BANNED_NAMES:
            yield f"{source.path}: a file or folder named {part} says nothing of what it owns"


def too_deep(source: Source) -> Iterator[str]:
    relative = source.path.relative_to(REPOSITORY)
    if module_parts(source.path) and len(relative.parts) - 1 > DEPTH_MAX:
        yield f"{source.path}: more than {DEPTH_MAX} folders deep"


def without_docstring(source: Source) -> Iterator[str]:
    if source.text.strip() and ast.get_docstring(source.module) is None:
        yield f"{source.path}: the module does not say what it owns"


def swallowed_errors(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler):
            if node.type is None:
                yield f"{source.path}:{node.lineno}: a bare except"
            if len(node.body) == 1 and isinstance(node.body[0], ast.Pass):
                yield f"{source.path}:{node.lineno}: an error is swallowed"


def swallowed_cancellations(source: Source) -> Iterator[str]:
    if not module_parts(source.path):
        return
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "asyncio.wait_for":
            yield (
                f"{source.path}:{node.lineno}: in Python 3.11 asyncio.wait_for loses a "
                "cancellation that comes when its result is there; use asyncio.timeout"
            )


RULES: tuple[Callable[[Source], Iterator[str]], ...] = (
    too_long,
    long_functions,
    banned_names,
    too_deep,
    without_docstring,
    swallowed_errors,
    swallowed_cancellations,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_sources_keep_the_rule(rule: Callable[[Source], Iterator[str]], scan: Scan) -> None:
    assert scan.findings[rule.__name__] == []
