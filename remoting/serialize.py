"""Header bytes to ``Command`` and back, in both serialisations of 4.9.

JSON (0): one object, keys in alphabetical order, ``extFields`` and ``remark`` only when there:

    {"code":0,"extFields":{..},"flag":1,"language":"JAVA","opaque":7,"remark":"..",
     "serializeTypeCurrentRPC":"JSON","version":407}

ROCKETMQ (1), big endian:

    0         2          3            5          9        13            13+4+n
    | i16 code | i8 lang | i16 version | i32 opaque | i32 flag | i32 n, remark | i32 m, ext |
    ext = ( i16 k, key | i32 v, value )*      n = 0 and v = 0 read as null, as in Java

Rule: the decoder accepts what Java accepts (language by name or number, numbers and booleans in
``extFields``, nulls, unknown keys, bytes that are not UTF-8) and raises BadFrame for anything that
has no meaning; it never raises anything else. If a key comes twice in ``extFields``, its last value
counts.

Source: remoting/protocol/RemotingCommand.java, remoting/protocol/RocketMQSerializable.java.
"""

import json
import re
import struct
from json.encoder import encode_basestring
from typing import Final

from remoting.codes import LanguageCode, SerializeType
from remoting.command import Command
from remoting.errors import BadCall, BadFrame
from remoting.header import parse_int
from storefmt.config.quoting import quote

_FIXED: Final = struct.Struct(">hbhii")
_INT: Final = struct.Struct(">i")
_SHORT: Final = struct.Struct(">h")
_LANGUAGE_NAMES: Final = {int(code): code.name for code in LanguageCode}
_LANGUAGE_CODES: Final = {code.name: int(code) for code in LanguageCode}
# Python's own escaping differs from fastjson's in letters of the hex digits, and in other blocks.
_LOWER_HEX: Final = re.compile(r"\\u00[01][a-f]")
_HALF_PAIR: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
FIELDS_MAX: Final = 1_024
"""Most pairs in ``extFields``: real clients write fewer than 40; each takes microseconds."""
# Java and this package write this layout when no text needs an escape, which is nearly always.
_NUMBER: Final = "(0|[1-9][0-9]{0,8})"
_PLAIN: Final = re.compile(
    rf'\{{"code":{_NUMBER},(?:"extFields":\{{([^{{}}\\]*)\}},)?"flag":{_NUMBER},'
    rf'"language":"([A-Z]{{1,12}})","opaque":{_NUMBER},(?:"remark":"([^"\\]*)",)?'
    rf'"serializeTypeCurrentRPC":"JSON","version":{_NUMBER}\}}'
)
_PAIRS_MAX: Final = 32
# The text between the quotes of so many pairs; the key is the number of parts that they make.
_BETWEEN: Final = {
    4 * count + 1: ["", *([":", ","] * count)[:-1], ""] for count in range(1, _PAIRS_MAX + 1)
}


def encode_header(cmd: Command) -> bytes:
    """Return the header bytes of ``cmd`` in its own serialisation.

    Raises:
        BadCall: a number does not fit its field, or a text has no UTF-8 form.
    """
    try:
        if cmd.serialize == SerializeType.JSON:
            return _encode_json(cmd)
        return _encode_binary(cmd)
    except UnicodeEncodeError as error:
        raise BadCall(f"header of code {cmd.code} holds text without UTF-8 form: {error}") from None
    except struct.error as error:
        raise BadCall(
            f"header of code {cmd.code} holds a number that does not fit: {error}"
        ) from None


def _encode_json(cmd: Command) -> bytes:
    ext = ""
    if cmd.ext or cmd.ext_written:
        ext = f'"extFields":{{{_pairs(cmd.ext)}}},'
    remark = "" if cmd.remark is None else f'"remark":{quote(cmd.remark)},'
    language = _LANGUAGE_NAMES.get(cmd.language, "OTHER")
    return (
        f'{{"code":{cmd.code:d},{ext}"flag":{cmd.flag:d},"language":"{language}",'
        f'"opaque":{cmd.opaque:d},{remark}"serializeTypeCurrentRPC":"JSON",'
        f'"version":{cmd.version:d}}}'
    ).encode()


def _pairs(ext: dict[str, str]) -> str:
    """Return the inside of ``extFields``, by the slow way only if it holds rare text."""
    pairs = ",".join(
        [f"{encode_basestring(name)}:{encode_basestring(value)}" for name, value in ext.items()]
    )
    if pairs.isascii() and "\x7f" not in pairs and _LOWER_HEX.search(pairs) is None:
        return pairs
    return ",".join([f"{quote(name)}:{quote(value)}" for name, value in ext.items()])


def _encode_binary(cmd: Command) -> bytes:
    remark = b"" if cmd.remark is None else cmd.remark.encode()
    pairs = bytearray()
    for name, value in cmd.ext.items():
        name_raw, value_raw = name.encode(), value.encode()
        pairs += _SHORT.pack(len(name_raw))
        pairs += name_raw
        pairs += _INT.pack(len(value_raw))
        pairs += value_raw
    fixed = _FIXED.pack(cmd.code, cmd.language, cmd.version, cmd.opaque, cmd.flag)
    return b"".join((fixed, _INT.pack(len(remark)), remark, _INT.pack(len(pairs)), pairs))


def decode_header(serialize: int, data: bytes) -> Command:
    """Return the command in header bytes, with an empty body.

    Args:
        serialize: the frame's serialisation byte.
        data: the whole header.

    Raises:
        BadFrame: unknown serialisation, or the bytes are not a header.
    """
    if serialize == SerializeType.JSON:
        return _decode_json(data)
    if serialize == SerializeType.ROCKETMQ:
        return _decode_binary(data)
    raise BadFrame(f"serialisation byte {serialize}, expected 0 (JSON) or 1 (ROCKETMQ)")


def _refuse_constant(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


# Control characters inside texts are accepted, as fastjson does.
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, strict=False)


def java_text(data: bytes) -> str:
    """Return the text in bytes; as in Java, bytes that are not UTF-8 (some clients send GBK) become
    U+FFFD.
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        # For half a surrogate pair Java writes one replacement character, Python one a byte.
        return _HALF_PAIR.sub(b"\xef\xbf\xbd", data).decode("utf-8", "replace")


def _int_of(fields: dict[str, object], name: str, missing: int | None) -> int:
    value = fields.get(name)
    if type(value) is int and _INT32_MIN <= value <= _INT32_MAX:
        return value
    if isinstance(value, str):
        try:
            value = parse_int(value)
        except ValueError as error:
            raise BadFrame(f"header key {name}: {error}") from None
    if value is None:
        if missing is None:
            raise BadFrame(f"header has no {name}")
        return missing
    if type(value) is not int or not _INT32_MIN <= value <= _INT32_MAX:
        raise BadFrame(f"header key {name} is {str(value)[:40]!r}, expected a 32 bit number")
    return value


def _language_of(value: object) -> int:
    if value is None:
        return LanguageCode.JAVA
    if isinstance(value, str):
        return _LANGUAGE_CODES.get(value, LanguageCode.OTHER)
    if type(value) is int and value in _LANGUAGE_NAMES:
        return value
    return LanguageCode.OTHER


def _ext_of(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise BadFrame(f"header key extFields is a {type(value).__name__}, expected an object")
    if len(value) > FIELDS_MAX:
        raise BadFrame(f"extFields has {len(value)} pairs, the limit is {FIELDS_MAX}")
    for item in value.values():
        if type(item) is not str:
            break
    else:
        return value
    out: dict[str, str] = {}
    for name, item in value.items():
        if isinstance(item, str):
            out[name] = item
        elif item is True:
            out[name] = "true"
        elif item is False:
            out[name] = "false"
        elif item is not None:
            out[name] = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
    return out


def _plain(text: str) -> Command | None:
    """Return the command in a header of the usual layout without escapes, None for any other."""
    match = _PLAIN.fullmatch(text)
    if match is None:
        return None
    code, ext_text, flag, language, opaque, remark, version = match.groups()
    ext = {}
    if ext_text:
        parts = ext_text.split('"')
        if parts[::2] != _BETWEEN.get(len(parts)):
            return None
        ext = dict(zip(parts[1::4], parts[3::4], strict=True))
    return Command(
        int(code),
        int(opaque),
        int(flag),
        _LANGUAGE_CODES.get(language, LanguageCode.OTHER),
        int(version),
        remark,
        ext,
        ext_written=ext_text is not None,
    )


def _decode_json(data: bytes) -> Command:
    try:
        text = java_text(data)
        plain = _plain(text)
        if plain is not None:
            return plain
        fields = _DECODER.decode(text)
        if _SURROGATE.search(text) is not None:
            # Half a surrogate pair would fail much later, where the text is written again.
            json.dumps(fields, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise BadFrame(f"header of {len(data)} bytes is not JSON: {str(error)[:120]}") from None
    if not isinstance(fields, dict):
        raise BadFrame(f"header is a JSON {type(fields).__name__}, expected an object")
    remark = fields.get("remark")
    if remark is not None and not isinstance(remark, str):
        remark = json.dumps(remark, ensure_ascii=False, separators=(",", ":"))
    ext = fields.get("extFields")
    return Command(
        _int_of(fields, "code", None),
        _int_of(fields, "opaque", None),
        _int_of(fields, "flag", 0),
        _language_of(fields.get("language")),
        _int_of(fields, "version", 0),
        remark,
        {} if ext is None else _ext_of(ext),
        ext_written=ext is not None,
    )


def _decode_binary(data: bytes) -> Command:
    try:
        code, language, version, opaque, flag = _FIXED.unpack_from(data, 0)
        (remark_size,) = _INT.unpack_from(data, 13)
        pos = 17 + remark_size
        if remark_size < 0 or pos > len(data):
            raise BadFrame(f"remark of {remark_size} bytes in a header of {len(data)}")
        remark = java_text(data[17:pos]) if remark_size else None
        (ext_size,) = _INT.unpack_from(data, pos)
        pos += 4
        if ext_size < 0 or pos + ext_size > len(data):
            raise BadFrame(
                f"extFields of {ext_size} bytes at byte {pos} in a header of {len(data)}"
            )
        ext = _ext_pairs(data, pos, pos + ext_size)
    except struct.error as error:
        raise BadFrame(f"binary header of {len(data)} bytes is cut: {error}") from None
    return Command(
        code=code,
        opaque=opaque,
        flag=flag,
        language=language,
        version=version,
        remark=remark,
        ext=ext,
        serialize=SerializeType.ROCKETMQ,
        ext_written=ext_size > 0,
    )


def _ext_pairs(data: bytes, pos: int, end: int) -> dict[str, str]:
    """Read the key and value pairs between two positions; a pair past ``end`` is a BadFrame."""
    ext: dict[str, str] = {}
    count = 0
    while pos < end:
        count += 1
        if count > FIELDS_MAX:
            raise BadFrame(f"extFields has more than {FIELDS_MAX} pairs")
        (key_size,) = _SHORT.unpack_from(data, pos)
        key_end = pos + 2 + key_size
        if key_size < 0 or key_end + 4 > end:
            raise BadFrame(f"extFields key of {key_size} bytes at byte {pos} passes byte {end}")
        (value_size,) = _INT.unpack_from(data, key_end)
        value_end = key_end + 4 + value_size
        if value_size < 0 or value_end > end:
            raise BadFrame(f"extFields value of {value_size} bytes at {key_end} passes byte {end}")
        if value_size:
            ext[java_text(data[pos + 2 : key_end])] = java_text(data[key_end + 4 : value_end])
        pos = value_end
    return ext
