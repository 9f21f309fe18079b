"""Any numbers and odd texts in each field of a send and a pull: kernels agree with plain Python.

Compared are the answers, every file of the store after a stop, and the counters. Each read is one
frame, and they come one after another, so that no answer depends on timing.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from remoting.codes import RequestCode
from storefmt.formats.batch import BatchEntry, join_batch
from tests.server.broker.desk import TOPIC
from tests.server.broker.send import test_send_kernel as sends
from tests.server.broker.send.test_send_kernel import Kind, both, dressed, fields, frame, long_named

pytestmark = sends.pytestmark
used = sends.used

SEEDS = 2
OneFrame = Callable[[random.Random, int], bytes]
EDGES = sorted(
    {sign * (1 << bits) + step for bits in (0, 7, 31, 32, 53, 62, 63) for sign in (1, -1)
     for step in (-1, 0, 1)}
)  # fmt: skip
"""Numbers around the ends of every width."""
PULL = {
    "consumerGroup": "G", "topic": TOPIC, "queueId": "1", "queueOffset": "0", "maxMsgNums": "4",
    "sysFlag": "4", "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0",
    "subscription": "*", "expressionType": "TAG",
}  # fmt: skip
SEND_NUMBERS = "defghjl"
PULL_NUMBERS = (
    "queueId", "maxMsgNums", "sysFlag", "queueOffset", "commitOffset", "suspendTimeoutMillis",
    "subVersion",
)  # fmt: skip


def any_number(rng: random.Random) -> int:
    return rng.choice(EDGES) if rng.random() < 0.7 else rng.randrange(-(1 << 63), 1 << 63)


NUMBER_TEXTS = (
    "", " ", "+1", "-0", "01", "0x1", "1_0", "1e1", "1.0", " 1", "1 ", "1\t", "1\0", "--1", "+",
    "-",
    "\u0661", "\uff11", "\u00b2", "1\u00a0", "\u22121", "NaN", "null", "true", "\ud800",
    "9" * 30, "0" * 30 + "1", "0" * 5_000, "-" + "9" * 19,
)  # fmt: skip
"""Texts that are numbers only to some readers."""
FLAG_TEXTS = ("TRUE", "True", "tru\u00e9", "1", "", " true", "true ", "false\0", "\u0131")


def one_with_any_text(rng: random.Random, opaque: int) -> bytes:
    """Return a send (V1, V2) or a pull with texts that are numbers only to some readers."""
    if rng.random() < 0.3:
        pull = {**PULL, rng.choice(PULL_NUMBERS): rng.choice(NUMBER_TEXTS)}
        if rng.random() < 0.3:
            del pull[rng.choice(list(pull))]
        return frame(pull, b"", code=RequestCode.PULL_MESSAGE, opaque=opaque)
    name = rng.choice(SEND_NUMBERS + "km")
    ext = fields(**{name: rng.choice(FLAG_TEXTS if name in "km" else NUMBER_TEXTS)})
    if rng.random() < 0.3:
        del ext[rng.choice(list(ext))]
    if rng.random() < 0.3:
        return frame(long_named(ext), opaque=opaque, code=RequestCode.SEND_MESSAGE)
    return frame(ext, opaque=opaque)


def one_with_any_number(rng: random.Random, opaque: int) -> bytes:
    """Return a send (V1, V2, batch) or a pull with numbers from their whole range."""
    kind = rng.choice(("V1", "V2", "batch", "pull"))
    if kind == "pull":
        names = rng.sample(PULL_NUMBERS, rng.randrange(3))
        ext = PULL | {name: str(any_number(rng)) for name in names}
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


@pytest.mark.parametrize("one_frame", [one_with_any_number, one_with_any_text])
@pytest.mark.parametrize("is_binary", [False, True])
@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_numbers_from_their_whole_range_are_taken_as_without_kernels(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    seed: int,
    sync: bool,
    is_binary: bool,
    one_frame: OneFrame,
) -> None:
    rng, kind = random.Random(seed), Kind(is_binary=is_binary)
    # Each read is one frame, and they come one after another: no answer depends on timing.
    plain = frame(fields(), opaque=99_999)
    stream = [plain, *(dressed(rng, one_frame(rng, at), kind) for at in range(600)), plain]

    compiled, pure = await both(tmp_path, monkeypatch, [stream], sync=sync, kind=kind)

    assert sorted(compiled.answers[0], key=repr) == sorted(pure.answers[0], key=repr)
    assert compiled.counters == pure.counters
    assert compiled.files == pure.files
    assert compiled.counters["put"] > 60
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
