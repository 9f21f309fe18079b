"""Targets of ``remoting``: frames, headers in both serialisations, the kernels, bodies."""

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import takewhile

from mqserver.broker.pull import pull_header  # noqa: F401 - loads the forms of parse_pull
from remoting import bodies, headers
from remoting.bodies import Body, RegisterBrokerBody
from remoting.errors import BadBody, BadCall, BadFrame, BadHeader, RemotingError
from remoting.fast_path import Stored, read_stored
from remoting.frame import (
    HEADER_SIZE_MAX,
    FrameReader,
    RawFrame,
    decode_frame,
    encode_frame,
    peek_code,
)
from remoting.header import Header
from remoting.headers import PullMessage, SendMessageV2
from remoting.serialize import decode_header, encode_header
from storefmt.kernels import forms
from tests.fuzz.seeds import captured
from tests.fuzz.target import Target

FRAME_SIZE_MAX = 1 << 20
HEADERS: tuple[type[Header], ...] = tuple(getattr(headers, name) for name in headers.__all__)
BODIES: tuple[type[Body], ...] = tuple(
    found
    for name in bodies.__all__
    if isinstance(found := getattr(bodies, name), type)
    and issubclass(found, Body)
    and found is not Body
)
WORDS = (
    '"code":', '"extFields":{', '"flag":', '"language":"JAVA"', '"opaque":', '"remark":',
    '"serializeTypeCurrentRPC":"JSON"', '"version":', '"a":"', '"queueId":"', '"topic":"',
    '"consumerGroup":"', "\\u0001", "\\ud800", "2147483648", "9223372036854775808", "true", "null",
    "NaN", "\\x00\\x00\\x00\\x00", "\\xff\\xff\\xff\\xff", "\\x7f\\xff\\xff\\xff",
)  # fmt: skip


def read_frames(data: bytes) -> None:
    """Read a stream of frames whole and in pieces: the same comes out."""
    step, data = (data[0] % 64 + 1, data[1:]) if data else (1, data)
    whole, whole_refused = _feed([data])
    pieces, refused = _feed([data[at : at + step] for at in range(0, len(data), step)])
    assert whole_refused == refused
    # A read that ends in a bad frame gives none of the good ones before it.
    assert whole_refused or whole == pieces
    for raw in pieces:
        with suppress(BadFrame):
            cmd = decode_frame(raw)
            assert peek_code(raw) == cmd.code
            _written_again(raw.serialize, raw)


def _feed(pieces: list[bytes]) -> tuple[list[RawFrame], bool]:
    reader, found = FrameReader(frame_size_max=FRAME_SIZE_MAX), []
    try:
        for piece in pieces:
            found += reader.feed(piece)
            assert reader.waiting_size <= FRAME_SIZE_MAX + 4 + len(piece)
    except BadFrame as error:
        return [*found, *error.frames], True
    return found, False


def _written_again(serialize: int, raw: RawFrame) -> None:
    cmd = decode_frame(raw)
    cmd.serialize = type(cmd.serialize)(serialize)
    try:
        written = encode_frame(cmd)
    except BadCall:
        return
    again = decode_frame(FrameReader().feed(written)[0])
    assert (again.code, again.opaque, again.flag, again.remark or None, again.body) == (
        cmd.code, cmd.opaque, cmd.flag, cmd.remark or None, cmd.body,
    )  # fmt: skip
    # A binary header has no empty values: they read as null.
    assert {name: value for name, value in cmd.ext.items() if value or not serialize} == again.ext


def read_answers(data: bytes) -> None:
    """Read a client's bytes: a kernel takes the first frames that are usual answers to sends."""
    raws, _ = _feed([data])
    wanted = list(takewhile(lambda found: found is not None, map(_usual, raws)))
    for name, read in forms("read_stored_compiled").items():
        found, size = read(data)
        assert found == ([] if name == "pure" else wanted)
        assert size == sum(8 + len(answer.raw.header) for answer in found)


def _usual(raw: RawFrame) -> Stored | None:
    # The kernel leaves bodies and long headers, which no usual answer has, to the general way.
    return None if raw.body or len(raw.header) > HEADER_SIZE_MAX else read_stored(raw)


def write_send(data: bytes) -> None:
    """Write sends with any properties: every writer gives the same frame, or refuses."""
    ext = dict.fromkeys("abcdefghijkmn", "x")
    texts = {data.decode("utf-8", errors) for errors in ("replace", "surrogateescape")}
    for text in texts | {data.decode("latin-1")}:
        frames = []
        for writer in forms("SendFramesCompiled").values():
            frames.append(b"")
            with suppress(BadCall):
                frames[-1] = writer(ext).frame(
                    len(data), sys_flag=0, born_ms=-len(data), flag=1, properties=text, body=data
                )
        assert len(set(frames)) == 1
        if frames[0]:
            assert decode_frame(FrameReader().feed(frames[0])[0]).ext["i"] == text


def read_json_header(data: bytes) -> None:
    """Read a JSON header by the general path and by the short ways, and typed."""
    _same_pulls(0, data)
    _typed(0, data)


def read_binary_header(data: bytes) -> None:
    _same_pulls(1, data)
    _typed(1, data)


def _same_pulls(serialize: int, data: bytes) -> None:
    for parse in forms("parse_pull_compiled").values():
        _same(serialize, data, partial(parse, serialize), PullMessage)


def _same(
    serialize: int, data: bytes, kernel: Callable[[bytes], object], header: type[Header]
) -> None:
    found = kernel(data)
    if found is None:
        return
    try:
        cmd = decode_header(serialize, data)
        typed = cmd.header(header)
    except RemotingError as error:
        raise AssertionError(f"a kernel reads what the general path refuses: {error}") from error
    first = {"code": cmd.code, "opaque": cmd.opaque, "is_oneway": cmd.is_oneway}
    for name, value in found._asdict().items():  # type: ignore[attr-defined]
        wanted = first[name] if name in first else getattr(typed, name)
        assert value == wanted, f"{name}: kernel {value!r}, general path {wanted!r}"


def _typed(serialize: int, data: bytes) -> None:
    cmd = decode_header(serialize, data)
    with suppress(BadCall):
        again = decode_header(serialize, encode_header(cmd))
        assert (again.code, again.opaque, again.flag) == (cmd.code, cmd.opaque, cmd.flag)
    kind = HEADERS[cmd.code % len(HEADERS)]
    for header in (kind, SendMessageV2):
        with suppress(BadHeader):
            typed = header.from_ext(cmd.ext)
            assert header.from_ext(typed.to_ext()) == typed


def read_body(data: bytes) -> None:
    """Read JSON as the body that the first byte chooses; it can be written again."""
    if data:
        kind = BODIES[data[0] % len(BODIES)]
        found = kind.decode(data[1:])
        written = found.encode()
        assert kind.decode(written).encode() == written


def read_registration(data: bytes) -> None:
    """Read the zlib form of a registration, of which the bytes are the stream or the inside."""
    with suppress(BadBody):
        RegisterBrokerBody.decode_compressed(data, size_max=FRAME_SIZE_MAX)
    found = RegisterBrokerBody.decode_compressed(zlib.compress(data, 1), size_max=FRAME_SIZE_MAX)
    found.encode_compressed()


def _streams() -> Iterator[bytes]:
    return (bytes([number % 256]) + one.data for number, one in enumerate(captured()))


def _sent() -> Iterator[bytes]:
    answers = [one.data for one in captured() if one.kind == "response" and one.code == 0]
    usual = [data for data in answers if b'"TRACE_ON"' in data]
    yield from (b"".join(usual[at : at + 3]) + answers[at] for at in range(len(usual)))


def _property_texts() -> Iterator[bytes]:
    return (one.body for one in captured() if b"\x01" in one.body)


def _headers(serialize: int) -> Iterator[bytes]:
    return (one.header for one in captured() if one.serialize == serialize)


def _bodies() -> Iterator[bytes]:
    found = dict.fromkeys(one.body for one in captured() if one.body[:1] == b"{")
    for body in found:
        # The class it is meant for is the one that understands most of it.
        sizes = [_understood(kind, body) for kind in BODIES]
        yield bytes([sizes.index(max(sizes))]) + body
    for number in range(len(BODIES)):
        yield bytes([number]) + b"{}"


def _understood(kind: type[Body], data: bytes) -> int:
    try:
        return len(kind.decode(data).encode())
    except BadBody:
        return 0


def _registrations() -> Iterator[bytes]:
    body = RegisterBrokerBody()
    yield zlib.decompress(body.encode_compressed())
    yield body.encode_compressed()
    for one in captured():
        with suppress(zlib.error):
            yield zlib.decompress(one.body)


def wire_targets() -> list[Target]:
    """Return the targets of the wire."""
    refusals = (RemotingError,)
    return [
        Target("frames", read_frames, refusals, _streams, WORDS),
        Target("sent", read_answers, refusals, _sent, WORDS),
        Target("send_frame", write_send, refusals, _property_texts),
        Target("header_json", read_json_header, refusals, lambda: _headers(0), WORDS),
        Target("header_binary", read_binary_header, refusals, lambda: _headers(1), WORDS),
        Target("wire_body", read_body, refusals, _bodies),
        Target("registration", read_registration, refusals, _registrations),
    ]
