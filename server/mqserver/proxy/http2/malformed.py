"""Checks of the header fields of a request.

Rule: a malformed request ends its stream with PROTOCOL_ERROR before a method sees it, so that no
method has to check the protocol.

Source: RFC 9113, sections 8.1, 8.2 and 8.3.
"""

from collections.abc import Callable, Sequence
from typing import Final

from mqserver.proxy.http2.hpack import Field
from remoting.aio import costs
from storefmt.kernels import load

_PSEUDO: Final = frozenset((":authority", ":method", ":path", ":scheme"))
_NEEDED: Final = (":method", ":path", ":scheme")
_OF_CONNECTIONS: Final = frozenset(
    ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade")
)
_SIZE_DIGITS_MAX: Final = 18
_CONTENT_LENGTH: Final = "content-length"
NOT_THE_SIZE: Final = "the body is not as long as its content-length"

Head = tuple[int, dict[str, str] | None]
"""What the header fields of a request cost, in bytes, and their values by name if nothing about
them needs another look."""
ReadHead = Callable[[list[Field]], Head]
"""See ``read_head_plain``."""


def read_head_plain(fields: list[Field]) -> Head:
    """Return what the header fields of a request cost, in bytes, and their values by name.

    There are no values if a field is wrong, or says how long the body is; see
    ``fault_of_request`` and ``content_size_of``.
    """
    size = sum(len(name) + len(value) + costs.FIELD.size for name, value in fields)
    metadata = dict(fields)
    is_usual = _CONTENT_LENGTH not in metadata and fault_of_request(fields) is None
    return size, metadata if is_usual else None


def fault_of_request(fields: Sequence[Field]) -> str | None:
    """Return what is wrong with the header fields of a request; None if nothing is."""
    seen: dict[str, str] = {}
    has_regular = False
    for name, value in fields:
        if name[:1] != ":":
            has_regular = True
            fault = _fault_of_field(name, value)
            if fault is not None:
                return fault
            continue
        if name not in _PSEUDO:
            return f"there is no pseudo-header field {name[:50]!r} in requests"
        if name in seen:
            return f"the pseudo-header field {name!r} occurs twice"
        if has_regular:
            return f"the pseudo-header field {name!r} follows a regular field"
        seen[name] = value
    missing = next((name for name in _NEEDED if not seen.get(name)), None)
    return None if missing is None else f"the pseudo-header field {missing!r} is missing"


def fault_of_trailers(fields: Sequence[Field]) -> str | None:
    """Return what is wrong with the trailers of a request; None if nothing is."""
    for name, value in fields:
        if name[:1] == ":":
            return f"the trailers have the pseudo-header field {name[:50]!r}"
        fault = _fault_of_field(name, value)
        if fault is not None:
            return fault
    return None


def content_size_of(fields: Sequence[Field]) -> int | None:
    """Return the size that the header content-length gives; None if there is none.

    Raises:
        ValueError: it is not a size, or there are several.
    """
    sizes = {value for name, value in fields if name == _CONTENT_LENGTH}
    if not sizes:
        return None
    text = sizes.pop()
    if sizes or not (text.isascii() and text.isdigit()) or len(text) > _SIZE_DIGITS_MAX:
        raise ValueError("the header field 'content-length' is not one size")
    return int(text)


def body_size_and_fault(
    fields: Sequence[Field], *, is_ended: bool
) -> tuple[int | None, str | None]:
    """Return the size of the body that a request names, if it does, and what is wrong with it.

    Args:
        fields: the header fields.
        is_ended: whether no body follows.
    """
    fault = fault_of_request(fields)
    try:
        size = content_size_of(fields)
    except ValueError as error:
        return None, fault or str(error)
    if fault is None and is_ended and size:
        fault = NOT_THE_SIZE
    return size, fault


def _fault_of_field(name: str, value: str) -> str | None:
    if not name or name != name.lower():
        return f"the name of the header field {name[:50]!r} is not in lower case"
    if name in _OF_CONNECTIONS or (name == "te" and value != "trailers"):
        return f"the header field {name!r} is not allowed in HTTP/2"
    return None


read_head: Final = load(
    "mqserver.proxy.http2.hpack_kernel", "read_head_compiled", pure=read_head_plain
)
"""The reader in use."""
