"""What keeps delayed messages, by the settings of a broker of 5.4.0."""

import pytest

from mqadmin.changes.targets.storage import engine_of


@pytest.mark.parametrize(
    ("has_rocksdb", "stops_scan", "stops_files", "engine"),
    [
        (None, None, None, "FILES"),
        ("true", "false", "true", "ROCKSDB"),
        ("true", "true", "false", "FILES"),
        ("true", "false", "false", "FILES and ROCKSDB"),
        ("true", "true", "true", "NEITHER"),
        ("false", "false", "true", "NEITHER"),
    ],
)
def test_the_settings_say_which_engine_takes_messages(
    has_rocksdb: str | None, stops_scan: str | None, stops_files: str | None, engine: str
) -> None:
    given = {
        "timerRocksDBEnable": has_rocksdb,
        "timerRocksDBStopScan": stops_scan,
        "timerStopEnqueue": stops_files,
    }

    assert engine_of({key: value for key, value in given.items() if value}) == engine
