"""Tag and keys out of the raw properties of a record, without parsing all of them.

Rule: the result is that of ``storefmt.properties.parse_properties``: the last of equal
names wins, a property without a value counts for nothing. Text that is not plain ASCII
takes the long way. A walk over the log does this for every record.

Source: common/message/MessageDecoder.java#string2messageProperties.
"""

from typing import Final

from storefmt.properties import KEY_SEPARATOR, KEYS, TAGS, UNIQUE_KEY, parse_properties

_TAGS: Final = f"{TAGS}\x01".encode()
_KEYS: Final = f"{KEYS}\x01".encode()
_UNIQUE_KEY: Final = f"{UNIQUE_KEY}\x01".encode()
_SEPARATOR: Final = 2


def tags_of(properties: bytes) -> str | None:
    """Return the tag of a record, None without one."""
    if _TAGS not in properties:
        return None
    if not properties.isascii():
        return parse_properties(properties).get(TAGS)
    return _last(properties, _TAGS)


def keys_of(properties: bytes) -> tuple[str, ...]:
    """Return the keys that the index has for a record: the unique key, then the user's."""
    if properties.isascii():
        unique, text = _last(properties, _UNIQUE_KEY), _last(properties, _KEYS)
    else:
        parsed = parse_properties(properties)
        unique, text = parsed.get(UNIQUE_KEY), parsed.get(KEYS)
    if not text:
        return () if unique is None else (unique,)
    # Nearly always there is one.
    keys = (text,) if KEY_SEPARATOR not in text else _split(text)
    return keys if unique is None else (unique, *keys)


def _split(text: str) -> tuple[str, ...]:
    return tuple(key for key in text.split(KEY_SEPARATOR) if key)


def _last(properties: bytes, name: bytes) -> str | None:
    at = properties.rfind(name)
    while at >= 0:
        if not at or properties[at - 1] == _SEPARATOR:
            start = at + len(name)
            end = properties.find(b"\x02", start)
            value = properties[start:] if end < 0 else properties[start:end]
            if value:
                return value.decode()
        at = properties.rfind(name, 0, at)
    return None
