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
    if not has_keys(properties):
        return ()
    if properties.isascii():
        unique, text = _last(properties, _UNIQUE_KEY), _last(properties, _KEYS)
    else:
        parsed = parse_properties(properties)
        unique, text = parsed.get(UNIQUE_KEY), parsed.get(KEYS)
    keys = tuple(key for key in text.split(KEY_SEPARATOR) if key) if text else ()
    return keys if unique is None else (unique, *keys)


def has_keys(properties: bytes) -> bool:
    """Tell whether a record may have keys; False is certain."""
    return _UNIQUE_KEY in properties or _KEYS in properties


def _last(properties: bytes, name: bytes) -> str | None:
    at = len(properties)
    while (at := properties.rfind(name, 0, at)) >= 0:
        if at and properties[at - 1] != _SEPARATOR:
            continue
        start = at + len(name)
        end = properties.find(_SEPARATOR, start)
        value = properties[start:] if end < 0 else properties[start:end]
        if value:
            return value.decode()
    return None
