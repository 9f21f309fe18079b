"""Whole-range numbers in every field of a send and a pull: kernels and plain Python agree.

Compared are the answers, every file of the store after a stop, and the counters. Each read is one
frame, and they come one after another, so that no answer depends on timing.
"""

import random
from pathlib import Path

import pytest

from remoting.codes import RequestCode
from storefmt.formats.batch import BatchEntry, join_batch
from tests.server.broker.desk import TOPIC
from tests.server.broker.send import test_send_kernel as sends
from tests.server.broker.send.test_send_kernel import Kind, both, fields, frame, long_named

pytestmark = sends.pytestmark
used = sends.used

EDGES = sorted(
    {sign * (1 << bits) + step for bits in (0, 7, 31, 32, 53, 62, 63) for sign in (1, -1)
     for step in (-1, 0, 1)}
)  # fmt: skip
"""Numbers around the ends of every width."""
SEND_NUMBERS = "defghjl"
PULL_NUMBERS = (
    "queueId", "maxMsgNums", "sysFlag", "queueOffset", "commitOffset", "suspendTimeoutMillis",
    "subVersion",
)  # fmt: skip


def any_number(rng: random.Random) -> int:
    return rng.choice(EDGES) if rng.random() < 0.7 else rng.randrange(-(1 << 63), 1 << 63)


def one_with_any_number(rng: random.Random, opaque: int) -> bytes:
    """Return a send (V1, V2, batch) or a pull with numbers from their whole range."""
    kind = rng.choice(("V1", "V2", "batch", "pull"))
    if kind == "pull":
        pull: dict[str, object] = {
            "consumerGroup": "G", "topic": TOPIC, "queueId": 1, "queueOffset": 0,
            "maxMsgNums": 4, "sysFlag": 4, "commitOffset": 0, "suspendTimeoutMillis": 0,
            "subVersion": 0, "subscription": "*", "expressionType": "TAG",
        }  # fmt: skip
        pull.update({name: any_number(rng) for name in rng.sample(PULL_NUMBERS, rng.randrange(3))})
        ext = {name: str(value) for name, value in pull.items()}
        return frame(ext, b"", code=RequestCode.PULL_MESSAGE, opaque=opaque)
    ext = fields(
        **{name: any_number(rng) for name in rng.sample(SEND_NUMBERS, rng.randrange(1, 3))}
    )
    if kind == "V1":
        return frame(long_named(ext), opaque=opaque, code=RequestCode.SEND_MESSAGE)
    if kind == "batch":
        body = join_batch([BatchEntry(rng.choice((-(1 << 31), -1, (1 << 31) - 1)), b"x", b"")] * 2)
        ext |= {"i": "WAIT\1true", "m": "true"}
        return frame(ext, body, opaque=opaque, code=RequestCode.SEND_BATCH_MESSAGE)
    return frame(ext, opaque=opaque)


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("seed", range(3))
async def test_numbers_from_their_whole_range_are_taken_as_without_kernels(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    seed: int,
    sync: bool,
) -> None:
    rng = random.Random(seed)
    # Each read is one frame, and they come one after another: no answer depends on timing.
    plain = frame(fields(), opaque=99_999)
    stream = [plain, *(one_with_any_number(rng, at) for at in range(600)), plain]

    compiled, pure = await both(tmp_path, monkeypatch, [stream], sync=sync, kind=Kind())

    assert sorted(compiled.answers[0], key=repr) == sorted(pure.answers[0], key=repr)
    assert compiled.counters == pure.counters
    assert compiled.files == pure.files
    assert compiled.counters["put"] > 60
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
