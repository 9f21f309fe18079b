"""Which groups pop: ``messageRequestMode.json``.

    topic -> group -> PULL, or POP with the number of members that share a queue

Rule: a group without a mode pulls. The file is written when a mode is set for the first time.

Source: broker/loadbalance/MessageRequestModeManager.java (5.4.0).
"""

from typing import Final

from remoting.bodies import (
    MessageRequestModeSerializeWrapper,
    SetMessageRequestModeRequestBody,
)
from storefmt.config.fastjson import dumps

FILE_NAME: Final = "messageRequestMode.json"


class RequestModes:
    """The modes of one broker.

    Args:
        stored: the content of the file; None without one.
    """

    def __init__(self, stored: MessageRequestModeSerializeWrapper | None) -> None:
        self.table = stored or MessageRequestModeSerializeWrapper()
        """All modes, by topic and group."""

    @property
    def count(self) -> int:
        """How many modes were set."""
        return sum(map(len, self.table.message_request_mode_map.values()))

    def snapshot(self) -> MessageRequestModeSerializeWrapper:
        """Return the modes of this moment."""
        table = self.table.message_request_mode_map
        return MessageRequestModeSerializeWrapper(
            message_request_mode_map={topic: dict(groups) for topic, groups in table.items()}
        )

    def put(self, mode: SetMessageRequestModeRequestBody) -> None:
        """Set the mode of a group in a topic."""
        self.table.message_request_mode_map.setdefault(mode.topic, {})[mode.consumer_group] = mode

    def get(self, topic: str, group: str) -> SetMessageRequestModeRequestBody:
        """Return the mode of a group in a topic; PULL without one."""
        mode = self.table.message_request_mode_map.get(topic, {}).get(group)
        if mode is not None:
            return mode
        return SetMessageRequestModeRequestBody(topic=topic, consumer_group=group)

    def adopt(self, table: MessageRequestModeSerializeWrapper) -> bool:
        """Replace the modes by those of a master; return whether any differs."""
        if table == self.table:
            return False
        self.table = table
        return True

    def text(self) -> str:
        """Return the text of the file."""
        return dumps(self.table.to_json(), pretty=True)
