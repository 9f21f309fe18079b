"""What happens on a machine without Java: a skip with its reason, a failure under CI."""

import shutil

import pytest

from tests.interop.kit.java_build import need_java


def test_missing_java_skips_and_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "mvn" else f"/bin/{name}")
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="mvn not on the path"):
        need_java()


def test_missing_java_fails_under_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.fail.Exception, match="java, javac, mvn not on the path"):
        need_java()
