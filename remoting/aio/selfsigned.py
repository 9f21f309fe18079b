"""A certificate for tests, as RocketMQ's ``tls.test.mode.enable`` makes one at each start.

    P-256 key ─ X.509 version 1, CN=localhost, signed by itself (ECDSA, SHA-256) ─ PEM

Rule: the certificate allows encryption but proves nothing; a client that checks certificates
refuses it. This needs no library and no file. The arithmetic is not constant in time, which is
enough for a key that signs one certificate in the process that made it.

Source: io.netty.handler.ssl.util.SelfSignedCertificate in remoting/netty/TlsHelper.java; SEC 1,
RFC 5280, RFC 5915.
"""

import base64
import hashlib
import secrets
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

_P: Final = 2**256 - 2**224 + 2**192 + 2**96 - 1
_A: Final = -3
_N: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G: Final = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)

_EC_PUBLIC_KEY: Final = bytes.fromhex("06072a8648ce3d0201")
_P256: Final = bytes.fromhex("06082a8648ce3d030107")
_ECDSA_SHA256: Final = bytes.fromhex("300a06082a8648ce3d040302")
_COMMON_NAME: Final = bytes.fromhex("0603550403")

_INTEGER, _BITS, _OCTETS, _TEXT, _TIME = 0x02, 0x03, 0x04, 0x0C, 0x17
_SEQUENCE, _SET, _TAG_0, _TAG_1 = 0x30, 0x31, 0xA0, 0xA1

_VALID: Final = timedelta(days=3650)

_Point = tuple[int, int] | None


class Certificate(NamedTuple):
    """A certificate and its private key, both PEM text."""

    certificate: str
    key: str


def self_signed(now: datetime, *, name: str = "localhost") -> Certificate:
    """Return a new certificate for ``name`` that is valid from a day before ``now``."""
    private = 1 + secrets.randbelow(_N - 1)
    public = _public_bytes(private)
    subject = _der(
        _SEQUENCE, _der(_SET, _der(_SEQUENCE, _COMMON_NAME + _der(_TEXT, name.encode())))
    )
    valid = _der(_SEQUENCE, _time(now - timedelta(days=1)) + _time(now + _VALID))
    key_info = _der(_SEQUENCE, _der(_SEQUENCE, _EC_PUBLIC_KEY + _P256) + _bits(public))
    serial = _integer(1 + secrets.randbelow(2**63))
    signed_part = _der(_SEQUENCE, serial + _ECDSA_SHA256 + subject + valid + subject + key_info)
    whole = _der(_SEQUENCE, signed_part + _ECDSA_SHA256 + _bits(_signature(private, signed_part)))
    key = _der(
        _SEQUENCE,
        _integer(1)
        + _der(_OCTETS, private.to_bytes(32, "big"))
        + _der(_TAG_0, _P256)
        + _der(_TAG_1, _bits(public)),
    )
    return Certificate(_pem("CERTIFICATE", whole), _pem("EC PRIVATE KEY", key))


def _signature(private: int, data: bytes) -> bytes:
    digest = int.from_bytes(hashlib.sha256(data).digest(), "big")
    while True:
        nonce = 1 + secrets.randbelow(_N - 1)
        point = _times(nonce)
        r = 0 if point is None else point[0] % _N
        s = pow(nonce, -1, _N) * (digest + r * private) % _N
        if r and s:
            return _der(_SEQUENCE, _integer(r) + _integer(s))


def _public_bytes(private: int) -> bytes:
    point = _times(private)
    # A private key is 1 to N-1, so this is never the point at infinity.
    x, y = point or (0, 0)
    return b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")


def _times(factor: int) -> _Point:
    """Return the base point of the curve times ``factor``."""
    point: _Point = _G
    total: _Point = None
    while factor:
        if factor & 1:
            total = _plus(total, point)
        point = _plus(point, point)
        factor >>= 1
    return total


def _plus(first: _Point, second: _Point) -> _Point:
    if first is None or second is None:
        return first or second
    if first[0] == second[0]:
        if (first[1] + second[1]) % _P == 0:
            return None
        slope = (3 * first[0] ** 2 + _A) * pow(2 * first[1], -1, _P)
    else:
        slope = (second[1] - first[1]) * pow(second[0] - first[0], -1, _P)
    x = (slope * slope - first[0] - second[0]) % _P
    return x, (slope * (first[0] - x) - first[1]) % _P


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def _integer(number: int) -> bytes:
    return _der(_INTEGER, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _bits(content: bytes) -> bytes:
    return _der(_BITS, b"\0" + content)


def _time(moment: datetime) -> bytes:
    return _der(_TIME, moment.astimezone(UTC).strftime("%y%m%d%H%M%SZ").encode())


def _pem(label: str, data: bytes) -> str:
    text = base64.b64encode(data).decode()
    lines = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"
