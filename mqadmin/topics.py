"""What several topic commands share: kinds of topics, permissions as text.

Source: common/topic/TopicValidator.java, common/constant/PermName.java (4.9.7).
"""

import re
from collections.abc import Collection
from typing import Final, Literal

Kind = Literal["normal", "retry", "dead_letter", "system"]

RETRY_PREFIX: Final = "%RETRY%"
DEAD_LETTER_PREFIX: Final = "%DLQ%"
SYSTEM_PREFIX: Final = "rmq_sys_"
SYSTEM_TOPICS: Final = frozenset(
    {
        "TBW102",
        "SCHEDULE_TOPIC_XXXX",
        "BenchmarkTest",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRACE_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
    }
)
REPLY_SUFFIX: Final = "_REPLY_TOPIC"

READ, WRITE, INHERIT = 4, 2, 1
PERM_TEXT: Final = re.compile(r"[rR-]?[wW-]?[xX-]?")


def kind_of(topic: str, *, brokers_and_clusters: Collection[str] = ()) -> Kind:
    """Return what a topic is for; every broker and cluster has a topic of its own name."""
    if topic.startswith(RETRY_PREFIX):
        return "retry"
    if topic.startswith(DEAD_LETTER_PREFIX):
        return "dead_letter"
    if topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIX) or topic in brokers_and_clusters:
        return "system"
    return "system" if topic.endswith(REPLY_SUFFIX) else "normal"


def perm_text(perm: int) -> str:
    """Return a permission as RocketMQ prints it: ``RW-``."""
    return (
        ("R" if perm & READ else "-") + ("W" if perm & WRITE else "-") + ("X" if perm & 1 else "-")
    )


def parse_perm(text: str) -> int:
    """Return the permission that ``6``, ``RW``, ``r`` or ``RW-`` says.

    Raises:
        ValueError: it says none.
    """
    if text.isdecimal():
        value = int(text)
        if value in range(8):
            return value
    elif text and PERM_TEXT.fullmatch(text):
        letters = text.lower()
        return READ * ("r" in letters) | WRITE * ("w" in letters) | INHERIT * ("x" in letters)
    raise ValueError(f"{text!r} is no permission; expected 2 (write), 4 (read), 6, or RW, R, W")
