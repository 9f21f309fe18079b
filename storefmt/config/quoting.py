"""JSON strings in the spelling of fastjson, on disk and on the wire.

Rule: what is not ASCII stays as it is, and escapes have hex digits in upper case. Nearly every text
is written by the encoder of the standard library, which is written in C.

Source: com.alibaba.fastjson (1.2.69) serializer/SerializeWriter.
"""

import re
from json.encoder import encode_basestring
from typing import Final

_ESCAPED: Final = re.compile('[\x00-\x1f"\\\\\x7f-\x9f\u2028\u2029]')
_SHORT_ESCAPES: Final = {
    "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\",
}  # fmt: skip
# Python's own escaping differs in letters of the hex digits, and in these blocks.
_RARE: Final = re.compile("[\x0b\x0e\x0f\x1a-\x1f\x7f-\x9f\u2028\u2029]")


def quote(text: str) -> str:
    """Return ``text`` as a JSON string in fastjson's spelling, non-ASCII left as it is."""
    if _RARE.search(text) is None:
        return encode_basestring(text)
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}"
