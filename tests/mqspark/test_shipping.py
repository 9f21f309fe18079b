"""The code as a zip file has the kernels; a hint is printed where there are none."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import cloudpickle

from mqspark.__main__ import main
from mqspark.shipping import unpack_kernels, write_code
from mqspark.sources.store import spread
from mqspark.sources.store.source import RocketmqStore
from storefmt.arrow import columns
from storefmt.formats import scan
from tests.golden import Golden
from tests.mqspark.cluster import HOME, bare_python
from tests.programs import python, ran

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


PICKLE = """
import sys
from pathlib import Path
from pyspark import cloudpickle
from mqspark.sources.store.source import RocketmqStore

class Own(RocketmqStore):
    mine = "by value"

Path(sys.argv[1]).write_bytes(cloudpickle.dumps(Own({"path": "/data/store"})))
"""
UNPICKLE = """
import json, pickle, sys
from pathlib import Path

source = pickle.loads(Path(sys.argv[1]).read_bytes())
import mqspark
from storefmt.arrow import columns
print(json.dumps([source.options["path"], source.mine, mqspark.__file__, columns.has_kernel()]))
"""


@pytest.mark.spark
def test_a_source_brings_its_code_to_a_machine_without_it(tmp_path: Path) -> None:
    driver, executor, pickled = tmp_path / "driver", tmp_path / "executor", tmp_path / "pickled"
    driver.mkdir()
    executor.mkdir()
    code, bare = write_code(driver / "code.zip"), bare_python(tmp_path / "python")
    spark = os.pathsep.join(map(str, (HOME / "python" / "lib").glob("*.zip")))
    with_ours = {"PYTHONPATH": os.pathsep.join([str(code), spark])}
    ran(bare, "-c", PICKLE, pickled, cwd=driver, env=with_ours)
    shutil.rmtree(driver)

    # The first writes the code, the second finds it.
    for _ in range(2):
        done = ran(bare, "-c", UNPICKLE, pickled, cwd=executor, env={"PYTHONPATH": spark})

        path, mine, file, has_kernel = json.loads(done.stdout)
        assert (path, mine) == ("/data/store", "by value")
        assert file.startswith(f"{executor}/mqspark-")
        assert has_kernel is columns.has_kernel()
    assert len(list(executor.glob("mqspark-*.zip*"))) == 2, "the code and its kernels"


@pytest.mark.spark
def test_a_machine_without_an_installed_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = bare_python(tmp_path / "python")
    spark = os.pathsep.join(map(str, (HOME / "python" / "lib").glob("*.zip")))
    pickled = tmp_path / "pickled"
    monkeypatch.setattr("mqspark.shipping.__file__", "/opt/lib/python/mqspark/shipping.py")
    pickled.write_bytes(cloudpickle.dumps(RocketmqStore({"path": "/data/store"})))

    done = ran(bare, "-c", UNPICKLE, pickled, code=1, cwd=tmp_path, env={"PYTHONPATH": spark})

    told = done.stderr.splitlines()[-1]
    assert "does not have the package mqspark, which the driver has in /opt/lib/python" in told
    assert "install mqadmin on the executors" in told


def test_a_job_without_kernels_says_so_once(
    golden: Golden, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spread, "has_kernel", lambda: False)

    assert main(["stats", str(golden.store("basic")), "--engine", "local"]) == 0

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    hints = [line["hint"] for line in lines if "hint" in line]
    assert len(hints) == 1
    assert "without the compiled kernels, about four times slower: install" in hints[0]
