"""The code as a zip file has the kernels; a hint is printed where there are none."""

import json
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from mqspark.__main__ import main
from mqspark.shipping import unpack_kernels, write_code
from mqspark.sources.store import spread
from storefmt.arrow import columns
from storefmt.formats import scan
from tests.golden import Golden
from tests.programs import python

ASK = """
import json
from storefmt.arrow import columns
from storefmt.formats import scan
print(json.dumps([columns.__file__, columns.has_kernel(), scan._scan.__name__]))
"""


def test_kernels_are_unpacked_beside_the_zip_file(tmp_path: Path) -> None:
    code = write_code(tmp_path / "code.zip")
    env = {**os.environ, "PYTHONPATH": str(code)}

    # The first unpacks them, the second finds them.
    for _ in range(2):
        done = python("-c", ASK, cwd=tmp_path, env=env)

        file, has_kernel, scan_name = json.loads(done.stdout)
        assert file.startswith(str(code))
        assert (has_kernel, scan_name) == (columns.has_kernel(), scan._scan.__name__)
    assert [path.name for path in tmp_path.glob("kernels-*")] == []


def test_without_a_place_to_unpack_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> str:
        raise PermissionError(13, "Permission denied")

    code = write_code(tmp_path / "code.zip")
    monkeypatch.setattr(tempfile, "mkdtemp", refused)
    path = [f"{code}/storefmt/arrow"]

    unpack_kernels(SimpleNamespace(archive=str(code)), path)

    assert path == [f"{code}/storefmt/arrow"]


def test_the_same_code_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = write_code(tmp_path / "one.zip"), write_code(tmp_path / "two.zip")

    assert one.read_bytes() == two.read_bytes()


def test_a_job_without_kernels_says_so_once(
    golden: Golden, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spread, "has_kernel", lambda: False)

    assert main(["stats", str(golden.store("basic")), "--engine", "local"]) == 0

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    hints = [line["hint"] for line in lines if "hint" in line]
    assert len(hints) == 1
    assert "without the compiled kernels, about four times slower: install" in hints[0]
