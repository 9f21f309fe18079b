"""A consume hook that records the tags of what it sees."""

from mqclient.consumer.state.consume_hooks import ConsumeEvent


class Recorded:
    """Records consumptions.

    Attributes:
        begun: the tags of each consumption that began, joined by commas.
        ended: the same of each that ended, and whether it succeeded.
    """

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[tuple[str, bool]] = []

    def consume_before(self, event: ConsumeEvent) -> None:
        """Record that a consumption begins."""
        self.begun.append(_tags(event))

    def consume_after(self, event: ConsumeEvent) -> None:
        """Record how a consumption ended."""
        self.ended.append((_tags(event), event.success))


def _tags(event: ConsumeEvent) -> str:
    return ",".join(message.tags or "" for message in event.messages)
