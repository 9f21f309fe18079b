"""The attributes of a topic, which RocketMQ 5 keeps beside its other settings.

    "attributes": {"message.type": "FIFO"}       in topics.json, and where topics are listed
    +message.type=FIFO,-reserve.time             in a request: sets the first, removes the second

A broker of 4.9 skips the key when it reads topics.json or a list of topics, and loses it when
it writes the file. Of the attributes of 5.4.0, this broker supports ``message.type``, which is for
people and for the proxy: a broker accepts every message, whatever the type of its topic.

Rule: a topic without the attribute is of type NORMAL, and one without attributes has no key.

Source: common/attribute/AttributeParser.java, AttributeUtil.java, TopicMessageType.java,
common/TopicAttributes.java (5.4.0), whose texts the errors have.
"""

from collections.abc import Mapping
from typing import Final

from storefmt.errors import BadCall

MESSAGE_TYPE: Final = "message.type"
NORMAL: Final = "NORMAL"
MESSAGE_TYPES: Final = (
    "UNSPECIFIED",
    "MIXED",
    "TRANSACTION",
    "PRIORITY",
    "FIFO",
    "DELAY",
    NORMAL,
)
"""In the order in which Java lists them."""


def parse_changes(text: str) -> dict[str, str]:
    """Return what a request says of each attribute, by its name with the sign: ``+message.type``.

    Args:
        text: ``+name=value,-name``; "" changes nothing.

    Raises:
        BadCall: the text has another form, or names an attribute twice.
    """
    changes: dict[str, str] = {}
    for part in text.split(",") if text else ():
        name, equals, value = part.partition("=")
        if equals and not name.startswith("+"):
            raise BadCall(f"add/alter attribute format is wrong: {name}")
        if not equals and not name.startswith("-"):
            raise BadCall(f"delete attribute format is wrong: {part}")
        if len(name) < 2:
            raise BadCall("kv string format wrong.")
        if name in changes:
            raise BadCall(f"key duplication: {name}")
        changes[name] = value
    return changes


def changes_between(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return the request that makes attributes ``old`` the attributes ``new``; "" for none."""
    named = [f"+{name}={value}" for name, value in new.items() if old.get(name) != value]
    return ",".join([*named, *(f"-{name}" for name in old if name not in new)])


def alter_attributes(current: Mapping[str, str], changes: str, *, is_new: bool) -> dict[str, str]:
    """Return the attributes of a topic after a request.

    Args:
        current: the attributes that it has.
        changes: what the request says, see ``parse_changes``.
        is_new: this request creates the topic.

    Raises:
        BadCall: the request cannot be carried out; nothing of it is.
    """
    after = dict(current)
    seen: set[str] = set()
    for signed, value in parse_changes(changes).items():
        name = signed[1:]
        if name in seen:
            raise BadCall(f"alter duplication key. key: {name}")
        seen.add(name)
        if signed.startswith("-"):
            if is_new:
                raise BadCall(f"only add attribute is supported while creating topic. key: {name}")
            if name not in after:
                raise BadCall(f"attempt to delete a nonexistent key: {name}")
            del after[name]
            continue
        if name != MESSAGE_TYPE:
            raise BadCall(f"unsupported key: {name}")
        if value not in MESSAGE_TYPES:
            raise BadCall(f"value is not in set: [{', '.join(MESSAGE_TYPES)}]")
        after[name] = value
    return after
