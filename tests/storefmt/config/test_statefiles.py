"""The other files of ``config/``: nothing is lost, and the views say what is in them."""

import json

import pytest
from hypothesis import given

from storefmt.config.statefiles import (
    MEANINGS,
    StateFile,
)
from storefmt.config.tables import DataVersion
from storefmt.errors import ConfigDamaged
from tests.storefmt.broken import FUZZ, JSON_VALUES, survives
from tests.storefmt.corpus import STORES
from tests.storefmt.vectors import DATA


def golden_file(corpus, store: str, name: str) -> StateFile:
    return StateFile.decode((corpus(store).root / "config" / name).read_bytes())


def vector(name: str) -> StateFile:
    return StateFile.decode((DATA / "config5" / name).read_bytes())


@pytest.mark.parametrize("name", STORES)
def test_every_golden_file_comes_back_character_for_character(corpus, name: str) -> None:
    for file_name, text in corpus(name).expected["configText"].items():
        if not file_name.startswith("timercheck"):
            assert StateFile.decode(text).encode() == text, file_name
        assert file_name.removesuffix(".bak") in MEANINGS


def test_every_text_of_the_real_managers_comes_back_character_for_character() -> None:
    paths = sorted((DATA / "config5").iterdir())
    assert len(paths) == 6

    for path in paths:
        assert StateFile.decode(path.read_bytes()).encode() == path.read_text()


@pytest.mark.parametrize("name", ["topicQueueMapping.json", "topicQueueMapping.compact.json"])
def test_version_of_static_topics_is_read(name: str) -> None:
    file = vector(name)

    assert file.data_version == DataVersion(1795234843001, 0, {"stateVersion": 0})


def test_file_without_a_version_has_none(corpus) -> None:
    assert golden_file(corpus, "kinds", "consumerFilter.json").data_version is None


def test_state_file_that_is_no_object_is_refused() -> None:
    with pytest.raises(ConfigDamaged):
        _ = StateFile.decode("[]").data_version


@FUZZ
@given(JSON_VALUES)
def test_any_value_is_a_state_file_or_damage(value: object) -> None:
    survives(lambda data: StateFile.decode(data).data_version, json.dumps(value).encode())
