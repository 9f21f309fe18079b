"""No message is lost or archived twice when the archiver is killed, again and again."""

from pathlib import Path

import pytest

from mqserver.pytest_plugin import RocketMQ
from tests.mqspark.archive.test_archive import messages, stored
from tests.mqspark.archive.test_tables import bodies, planner  # noqa: F401 - a fixture
from tests.mqspark.kills import FEWER_COMMITS, archive_under_kills
from tests.mqspark.livetopics import filled_pair

COUNT = 1_500
pair = filled_pair("Killed", COUNT)


def options(pair: RocketMQ) -> dict[str, str]:
    return {
        "namesrv": pair.namesrv,
        "subscribe": "Killed",
        "maxOffsetsPerTrigger": "10",
        "maxRecordsPerPartition": "4",
    }


def test_five_kills_lose_and_repeat_nothing(pair: RocketMQ, tmp_path: Path) -> None:
    uri = tmp_path / "archive"

    commits = archive_under_kills(uri, options(pair), engine="local", kill_count=5, seed=9)

    assert commits >= COUNT // 10
    assert messages(str(uri)) == stored(pair.store, "Killed")


@pytest.mark.usefixtures("planner")
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_five_kills_lose_and_repeat_nothing_in_a_table(
    pair: RocketMQ, tmp_path: Path, kind: str
) -> None:
    uri = tmp_path / "archive"
    given = options(pair) | {"maxOffsetsPerTrigger": "40", "format": kind}

    archive_under_kills(uri, given, engine="local", kill_count=5, seed=4)

    assert bodies(kind, str(uri)) == stored(pair.store, "Killed")


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", [1, 2])
def test_six_kills_of_a_driver_tree(pair: RocketMQ, tmp_path: Path, seed: int) -> None:
    uri = tmp_path / "archive"

    given = options(pair) | FEWER_COMMITS
    archive_under_kills(uri, given, engine="spark", kill_count=6, seed=seed)

    assert messages(str(uri)) == stored(pair.store, "Killed")
