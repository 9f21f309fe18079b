r"""Read sends that differ from an earlier one in a few values with one regular expression.

    {"code":310,"extFields":{"a":"g","b":"t","c":"TBW102","d":"8  <- the front: key of the form
    ","e":"[3]","f":"0","g":"[1763733600000]","h":"0","i":"UNIQ_KEY\u0001[7F00…]\u0002WAIT\u0001[true]"
    ,…,"opaque":[17],…}                                 <- only the values in [] may differ

The sends of a producer keep one form for hours. The general way (``parse_send_v2`` and
``Recoder``) reads every field of each send. Here the constant text is only compared, and the
stored properties are filled in as bytes.

Rule: a form is made from a send that went the general way, and only if it gives the same bytes,
keys and tag code for that send. It matches plain ASCII values without escapes, and no send that
asks for anything special (batch, oneway, transaction, delay, retry). A send that matches no form
goes the general way.

Source: none, RocketMQ has nothing like it; the layout is that of ``remoting.fast_path``.
"""

import re
from collections.abc import Callable
from operator import itemgetter
from typing import Final, NamedTuple

from remoting.fast_path import SendV2
from server.broker.stored_properties import Recoder, split_keys
from storefmt.formats.javahash import tags_code
from storefmt.formats.sysflag import TRANSACTION_MASK

LEARN_AFTER: Final = 16
"""Sends with one front that go the general way before a form is made, because compiling a
regular expression is expensive."""
FORMS_MAX: Final = 4
"""Forms that may share one front."""
_FRONTS_MAX: Final = 1_024
_HEADER_SIZE_MAX: Final = 4_096
_FRONT_END: Final = b'","e":"'
_VALUE: Final = rb"([ !#-\[\]-~]+)"
_NUMBER: Final = rb"(0|[1-9][0-9]{0,8})"
# The groups are the fixed text and the properties; the numbers between them change.
_PARTS: Final = re.compile(
    rb'(","e":")[0-9]{1,9}(","f":"[0-9]{1,9}","g":")[0-9]{1,18}(","h":"-?[0-9]{1,9}","i":")'
    rb'([^"]+)(",.*,"opaque":)[0-9]{1,9}(,"serializeTypeCurrentRPC":"JSON","version":[0-9]{1,9}\})'
)
_FIRST_VALUE: Final = 2


class Form(NamedTuple):
    """How to read the sends of one form, and the values that all of them share."""

    match: Callable[[bytes, int], re.Match[bytes] | None]
    """Matches from the end of the front; its groups are queue id, born time, the values of the
    properties, opaque."""
    pick: Callable[[tuple[bytes, ...]], object]
    """Picks the values that are stored from the groups, in stored order."""
    template: bytes
    """The stored properties, with ``%s`` in place of each of these values."""
    topic: str
    sys_flag: int
    flag: int
    tags: int
    keys: int
    unique: int
    wait: int
    """``tags``, ``keys``, ``unique`` (UNIQ_KEY) and ``wait`` are indices of groups, -1 for a
    property that the form lacks."""


class SendForms:
    """The forms of the sends that one broker receives."""

    def __init__(self, recoder: Recoder) -> None:
        self._recoder = recoder
        self._forms: dict[bytes, list[Form]] = {}
        self._missed: dict[bytes, int] = {}

    def find(self, header: bytes) -> tuple[Form, tuple[bytes, ...]] | None:
        """Return the form of a header and the values in it, or None if it matches no form."""
        end = header.find(_FRONT_END)
        for form in self._forms.get(header[:end], ()):
            found = form.match(header, end)
            if found is not None:
                return form, found.groups()
        return None

    def learn(self, header: bytes, send: SendV2) -> None:
        """Count a send that went the general way; every ``LEARN_AFTER``-th may become a form."""
        if len(header) > _HEADER_SIZE_MAX:
            return
        front = header[: header.find(_FRONT_END)]
        missed = self._missed.get(front, 0) + 1
        if missed > LEARN_AFTER * FORMS_MAX:
            return
        if len(self._missed) >= _FRONTS_MAX:
            # A client uses ever new groups or topics: start again to bound the memory.
            self._missed.clear()
            self._forms.clear()
        self._missed[front] = missed
        if missed % LEARN_AFTER == 0:
            form = self._make(header, send, len(front))
            if form is not None:
                self._forms.setdefault(front, []).append(form)

    def _make(self, header: bytes, send: SendV2, end: int) -> Form | None:
        if send.batch or send.is_oneway or send.reconsume_times or send.properties is None:
            return None
        parts = _PARTS.fullmatch(header, end)
        shape = self._recoder.shape_of(send.properties)
        if parts is None or shape is None or not shape.places or send.sys_flag & TRANSACTION_MASK:
            return None
        fixed = [re.escape(text) for text in parts.groups()]
        # The names of the properties are part of the fixed text; only their values may differ.
        texts = (text.partition(rb"\u0001") for text in parts[4].split(rb"\u0002"))
        values = rb"\\u0002".join(
            re.escape(name + mark) + (_VALUE if mark else b"") for name, mark, _ in texts
        )
        pattern = b"".join(
            (fixed[0], _NUMBER, fixed[1], rb"([0-9]{1,18})", fixed[2], values, fixed[4], _NUMBER,
             fixed[5])
        )  # fmt: skip
        form = Form(
            re.compile(pattern).fullmatch,
            itemgetter(*(_FIRST_VALUE + place for place in shape.places)),
            shape.template.encode(),
            send.topic,
            send.sys_flag,
            send.flag,
            *(
                _FIRST_VALUE + at if at >= 0 else -1
                for at in (shape.tags, shape.keys, shape.unique, shape.wait)
            ),
        )
        found = form.match(header, end)
        if found is None:
            return None
        general = self._recoder.recode(send.properties)
        return form if stored(form, found.groups()) == general[:4] else None


def stored(form: Form, values: tuple[bytes, ...]) -> tuple[bytes, int, tuple[str, ...], bool]:
    """Return stored properties, tag code, index keys and whether the producer waits for the disk.

    Args:
        values: the groups that ``form.match`` found.
    """
    _, pick, template, _, _, _, tags, keys, unique, wait = form
    if keys < 0 <= unique:
        found: tuple[str, ...] = (values[unique].decode(),)
    else:
        found = split_keys(
            values[unique].decode() if unique >= 0 else "",
            values[keys].decode() if keys >= 0 else "",
        )
    return (
        template % pick(values),
        tags_code(values[tags].decode()) if tags >= 0 else 0,
        found,
        wait < 0 or values[wait] == b"true" or values[wait].lower() == b"true",
    )
