"""Key values have no effect before they are on the disk, whatever the disk does."""

import json
from pathlib import Path

import pytest

from mqserver.namesrv.kvconfig import BadKey, KvConfig
from mqserver.runtime.jsonfile import Files
from storefmt.errors import ConfigDamaged


class FullDisk(Files):
    """A disk that takes half of a write and then no more."""

    def write_synced(self, path: Path, data: bytes) -> None:
        path.write_bytes(data[: len(data) // 2])
        raise OSError(28, "no space left on device")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kv.json"


def test_a_key_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kvConfig.json"
    kv = KvConfig.open(path)
    kv.set_value("NS", "k", "v1")
    kv.set_value("NS", "k", "v2")
    kv.set_value("ORDER_TOPIC_CONFIG", "T", "a:4;b:4")

    again = KvConfig.open(path)

    assert again.get("NS", "k") == "v2"
    assert again.namespace("ORDER_TOPIC_CONFIG") == {"T": "a:4;b:4"}
    assert again.get("NS", "nothing") is None
    assert again.namespace("nothing") is None


def test_the_file_is_the_one_java_writes(tmp_path: Path, fact_tables: Path) -> None:
    (java,) = (fact_tables / "store_examples" / "namesrv").iterdir()
    path = tmp_path / "kvConfig.json"
    kv = KvConfig.open(path)

    kv.set_value("ORDER_TOPIC_CONFIG", "HFCT_ORD_R", "hfct-a:2")
    kv.set_value("ORDER_TOPIC_CONFIG", "HFCT_ORD", "hfct-a:2")
    kv.set_value("HFCT_NS", "k1", "v1")
    kv.delete("HFCT_NS", "k1")

    assert path.read_bytes() == java.read_bytes()
    path.write_bytes(java.read_bytes())
    assert KvConfig.open(path).namespace("HFCT_NS") == {}


def test_delete_leaves_the_namespace(tmp_path: Path) -> None:
    kv = KvConfig.open(tmp_path / "kv.json")
    kv.set_value("NS", "k", "v")

    kv.delete("NS", "k")
    kv.delete("NS", "k")
    kv.delete("nowhere", "k")

    assert kv.namespace("NS") == {}
    assert kv.namespace("nowhere") is None


def test_what_the_disk_refused_did_not_happen(path: Path) -> None:
    KvConfig.open(path).set_value("NS", "k", "old")
    kv = KvConfig.open(path, files=FullDisk())

    with pytest.raises(OSError):
        kv.set_value("NS", "k", "new")
    with pytest.raises(OSError):
        kv.delete("NS", "k")

    assert kv.get("NS", "k") == "old"
    assert KvConfig.open(path).get("NS", "k") == "old"


def test_a_half_written_file_falls_back_to_the_copy_before(path: Path) -> None:
    kv = KvConfig.open(path)
    kv.set_value("NS", "k", "first")
    kv.set_value("NS", "k", "second")
    path.write_bytes(path.read_bytes()[:10])

    assert KvConfig.open(path).get("NS", "k") == "first"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"configTable":[]}', '{"configTable":{"a":1}}'])
def test_two_damaged_files_are_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kv.json"
    for name in ("kv.json", "kv.json.bak"):
        (tmp_path / name).write_text(text)

    with pytest.raises(ConfigDamaged, match=r"kv\.json.*kv\.json\.bak"):
        KvConfig.open(path)


@pytest.mark.parametrize("cut", range(40))
def test_a_file_cut_anywhere_is_never_half_read(path: Path, cut: int) -> None:
    KvConfig.open(path).set_value("NS", "k", "v")
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])

    if cut < len(whole):
        with pytest.raises(ConfigDamaged):
            KvConfig.open(path)
    else:
        assert KvConfig.open(path).get("NS", "k") == "v"


@pytest.mark.parametrize(
    ("namespace", "key", "value"),
    [("", "k", "v"), ("n", "  ", "v"), ("n" * 256, "k", "v"), ("n", "k", "v" * 65_536)],
)
def test_empty_and_oversized_keys_are_refused(tmp_path, namespace, key, value) -> None:
    kv = KvConfig.open(tmp_path / "kv.json")

    with pytest.raises(BadKey):
        kv.set_value(namespace, key, value)

    assert kv.namespace(namespace) is None


def test_any_text_comes_back(path: Path) -> None:
    value = 'ünï "quoted"\\ \n\t\x01 中 😀 </script>'
    KvConfig.open(path).set_value("ns", "k", value)

    assert KvConfig.open(path).get("ns", "k") == value
    assert json.loads(path.read_text())["configTable"]["ns"]["k"] == value
