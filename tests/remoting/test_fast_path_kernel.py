"""The compiled fast path of the client writes and reads what the plain one does, for any bytes."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remoting.aio.channel import Channel
from remoting.aio.link import Outbox
from remoting.codes import LanguageCode
from remoting.command import Command
from remoting.errors import BadCall, ConnectionLost
from remoting.fast_path import SendFrames, Stored, Writers
from remoting.frame import encode_frame
from storefmt.formats.properties import MSG_REGION, TRACE_ON
from tests.remoting.aio.test_link import Nobody
from tests.twins import compiled, needs_kernel

READ = compiled("read_stored_compiled")
WRITER = compiled("SendFramesCompiled")
pytestmark = needs_kernel("read_stored_compiled", "SendFramesCompiled")

INT32 = st.integers(-(2**31), 2**31 - 1)
EXT = {**dict.fromkeys("abcdejkmn", "x"), "b": "topic", "n": "broker-a"}


def frame_or_error(
    made: Writers, ext: dict[str, str], language: LanguageCode, opaque: int, **fields: object
) -> bytes | str:
    try:
        return made(ext, language).frame(opaque, **fields)
    except BadCall as error:
        return str(error)


@settings(max_examples=500, deadline=None)
@given(
    opaque=st.integers(0, 2**31 - 1),
    numbers=st.tuples(INT32, st.integers(-(2**63), 2**63 - 1), INT32),
    properties=st.one_of(
        st.text(max_size=40),
        st.text(st.characters(max_codepoint=127), max_size=40),
        st.text('\1\2ab\x7f"\\\0\x1f', max_size=20),
        st.sampled_from(["\ud800", "KEYS\1\u2028\2", ""]),
    ),
    body=st.one_of(
        st.binary(max_size=40),
        st.binary(max_size=9).map(bytearray),
        st.builds(memoryview, st.binary()),
    ),
    name=st.sampled_from(["broker-a", "Bröker", 'a"b', "\ud800"]),
    language=st.sampled_from(LanguageCode),
)
def test_written_sends_are_the_same_bytes(
    opaque: int,
    numbers: tuple[int, int, int],
    properties: str,
    body: bytes,
    name: str,
    language: LanguageCode,
) -> None:
    sys_flag, born_ms, flag = numbers
    fields = {"sys_flag": sys_flag, "born_ms": born_ms, "flag": flag}
    fields |= {"properties": properties, "body": body}
    asked = {**EXT, "n": name}, language, opaque

    assert frame_or_error(WRITER, *asked, **fields) == frame_or_error(SendFrames, *asked, **fields)


@pytest.mark.parametrize("size", [16_777_216 - 300, 16_777_216 + 8])
def test_frames_around_the_limit_are_written_or_refused_alike(size: int) -> None:
    fields = {"sys_flag": 0, "born_ms": 1, "flag": 0, "properties": "", "body": bytes(size)}
    asked = EXT, LanguageCode.PYTHON, 1

    assert frame_or_error(WRITER, *asked, **fields) == frame_or_error(SendFrames, *asked, **fields)


class Noted:
    """Notes what one request was told."""

    def __init__(self, opaque: int, told: list[tuple[int, object]]) -> None:
        self._opaque, self._told = opaque, told

    def stored(self, stored: Stored) -> None:
        self._told.append((self._opaque, stored))

    def answered(self, answer: Command) -> None:
        self._told.append((self._opaque, answer))

    def failed(self, error: ConnectionLost | TimeoutError) -> None:
        self._told.append((self._opaque, str(error)))


OPAQUES = 40


def told(pieces: list[bytes], *, pure: bool) -> tuple[list[tuple[int, object]], bool, int]:
    """Return what the requests of a connection are told by the pieces of a stream."""
    found: list[tuple[int, object]] = []
    channel = Channel(Nobody(), "127.0.0.1:1", Outbox())
    if pure:
        channel._take = None
    for opaque in range(OPAQUES):
        channel.pending.add(Noted(opaque, found), 1)
    for piece in pieces:
        channel.get_buffer(-1)[: len(piece)] = piece
        channel.buffer_updated(len(piece))
    return found, channel.is_closing, channel.waiting_size


def an_answer(numbers: random.Random) -> bytes:
    """Return the frame of a usual answer to a send, or of another one."""
    ext = {
        "queueId": str(numbers.choice([0, 3, 10**8, 10**9, -1])),
        TRACE_ON: numbers.choice(["true", "true", "false", "maybe"]),
        MSG_REGION: numbers.choice(["DefaultRegion", "", "Größe", "a\\b"]),
        "msgId": numbers.choice(["7F00000100002A9F0000000000000000", "A,B"]),
        "queueOffset": str(numbers.choice([0, 17, 10**17, 10**18])),
    }
    if numbers.random() < 0.2:
        ext.pop(numbers.choice(list(ext)))
    body = b"body" if numbers.random() < 0.1 else b""
    code = numbers.choice([0, 0, 0, 0, 10, 11])
    return encode_frame(Command(code, numbers.randrange(OPAQUES + 5), 1, ext=ext, body=body))


@pytest.mark.parametrize("seed", range(4))
async def test_damaged_and_cut_answers_tell_requests_the_same(seed: int) -> None:
    numbers = random.Random(seed)
    for _ in range(500):
        usual = encode_frame(
            Command(0, numbers.randrange(OPAQUES), 1, ext={
                "queueId": "3", TRACE_ON: "true", MSG_REGION: "R", "msgId": "A", "queueOffset": "1",
            })
        )  # fmt: skip
        stream = bytearray(
            b"".join(
                usual if numbers.random() < 0.5 else an_answer(numbers)
                for _ in range(numbers.randrange(1, 8))
            )
        )
        for _ in range(numbers.choice([0, 0, 1, 2])):
            stream[numbers.randrange(len(stream))] = numbers.choice(b'"\\0129,:{}\x00\xff')
        cuts = sorted(numbers.choices(range(len(stream) + 1), k=numbers.randrange(4)))
        edges = [0, *cuts, len(stream)]
        pieces = [bytes(stream[a:b]) for a, b in pairwise(edges) if a < b]

        assert told(pieces, pure=False) == told(pieces, pure=True)


@pytest.mark.parametrize("opaque", [0, 7, 999_999_999])
def test_usual_answers_are_all_taken(opaque: int) -> None:
    ext = {
        "queueId": "3", TRACE_ON: "false", MSG_REGION: "R", "msgId": "AB", "queueOffset": "18",
    }  # fmt: skip
    one = encode_frame(Command(0, opaque, 1, ext=ext))

    answers, size = READ(one * 3 + one[:-1])

    assert size == 3 * len(one)
    assert [answer[:-1] for answer in answers] == [(opaque, 3, False, "R", "AB", 18)] * 3
