"""A dry run of a release finds what is missing; hooks and issue templates are what they say."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs.release import findings
from mqadmin import VERSION
from tests.golden import REPOSITORY
from tests.programs import ran
from tests.tiers import Tier

PINNED = 'dependencies = ["mqclient[cli]==1.2.3"]\n'
CHANGELOG = "# Changelog\n\n## 1.2.3 (2026-11-23)\n\n## 1.2.2 (2026-10-01)\n"
BUILT = (
    "mqclient-1.2.3.tar.gz",
    "mqclient-1.2.3-py3-none-any.whl",
    "mqclient-1.2.3-cp311-cp311-linux_x86_64.whl",
    "mqadmin-1.2.3.tar.gz",
    "mqadmin-1.2.3-py3-none-any.whl",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository that can be released as 1.2.3."""
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / ".gitignore").write_text("dist/\n")
    (tmp_path / "dist").mkdir()
    for name in BUILT:
        (tmp_path / "dist" / name).touch()
    (tmp_path / "toolkit").mkdir()
    (tmp_path / "toolkit" / "pyproject.toml").write_text(PINNED)
    person = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    for line in (["init", "-q"], ["add", "."], [*person, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *line], cwd=tmp_path, check=True)
    return tmp_path


def commit_of(checkout: Path, text: str) -> None:
    (checkout / "CHANGELOG.md").write_text(text)
    person = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *person, "commit", "-q", "-a", "-m", "x"], cwd=checkout, check=True)


def test_a_checkout_that_is_ready_has_no_findings(checkout: Path) -> None:
    assert list(findings(checkout, "1.2.3")) == []


def test_an_uncommitted_file_is_named(checkout: Path) -> None:
    (checkout / "new.py").touch()

    (found,) = findings(checkout, "1.2.3")

    assert found.startswith("new.py: ")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("1.2.3 (2026", "1.3.0 (2026", "names 1.3.0, mqadmin/__init__.py names 1.2.3"),
        ("(2026-11-23)", "(unreleased)", "1.2.3 is called unreleased"),
        (CHANGELOG, "# Changelog\n", "names nothing"),
    ],
)
def test_a_heading_that_differs_is_named(checkout: Path, old: str, new: str, said: str) -> None:
    commit_of(checkout, CHANGELOG.replace(old, new))

    (found,) = findings(checkout, "1.2.3")

    assert said in found


@pytest.mark.parametrize("name", BUILT)
def test_a_file_that_was_not_built_is_named(checkout: Path, name: str) -> None:
    (checkout / "dist" / name).unlink()

    (found,) = findings(checkout, "1.2.3")

    assert found.startswith("dist/: no ")


def test_a_toolkit_that_requires_another_version_is_named(checkout: Path) -> None:
    (checkout / "toolkit" / "pyproject.toml").write_text(PINNED.replace("1.2.3", "1.2.2"))

    found = [*findings(checkout, "1.2.3")]

    assert any(line.startswith("toolkit/pyproject.toml: it is to require ") for line in found)


def test_the_changelog_begins_with_the_version_of_the_code() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text()

    assert re.findall(r"^## (\S+)", text, re.MULTILINE)[0] == VERSION


def test_make_release_builds_and_checks_and_uploads_nothing() -> None:
    done = ran("make", "--dry-run", "release")

    steps = ["docs.generate", "build_sdist", "twine check", "docs.release"]
    places = [done.stdout.index(step) for step in steps]
    assert places == sorted(places)
    assert not re.search(r"upload|git (tag|push|commit)", done.stdout)


def test_the_checklist_names_every_tier() -> None:
    text = (REPOSITORY / "docs" / "release.md").read_text()

    assert [tier.command for tier in Tier if f"`{tier.command}`" not in text] == []


def test_hooks_are_what_make_check_runs() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    checks = re.search(r"^check:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    config = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text())

    (local,) = config["repos"]

    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}
    assert checks is not None
    lines = [line.strip().replace("$(BIN)", ".venv/bin") for line in checks[1].splitlines()]
    assert [hook["entry"] for hook in local["hooks"]] == lines


def template(name: str) -> Any:
    return yaml.safe_load((REPOSITORY / ".github" / "ISSUE_TEMPLATE" / name).read_text())


@pytest.mark.parametrize("name", ["bug.yml", "feature.yml"])
def test_an_issue_form_has_what_github_requires(name: str) -> None:
    form = template(name)

    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids)
    assert {field["type"] for field in form["body"]} <= {"textarea", "input"}
    assert all(field["attributes"]["label"] for field in form["body"])
    assert form["body"][0]["validations"] == {"required": True}


def test_a_bug_report_asks_for_the_version() -> None:
    asked = [field["attributes"]["label"] for field in template("bug.yml")["body"]]

    assert any("mqadmin --version" in label for label in asked)
