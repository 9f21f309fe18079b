"""The header of a pull, and the short way to read it.

    JSON       {"code":11,"extFields":{"queueId":"0", … },"flag":0, …}      keys in any order
    ROCKETMQ   i16 code | … | i32 n, remark | i32 m, ext                    (remoting.serialize)

Rule: the short way returns what ``decode_header`` and the typed header ``PullMessage`` would
return, or None; then take the general path, which is all there is where no kernel was built. It
returns None for an escape, a number that is too long, a key that comes twice, whatever else is
rare, and whatever is wrong; it never raises.

Source: common/protocol/header/PullMessageRequestHeader.java.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from storefmt.kernels import load


class Pull(NamedTuple):
    """The fields of a pull request; the names are those of ``headers.PullMessage``."""

    code: int
    opaque: int
    is_oneway: bool
    consumer_group: str
    topic: str
    queue_id: int
    queue_offset: int
    max_msg_nums: int
    sys_flag: int
    commit_offset: int
    suspend_timeout_millis: int
    subscription: str | None
    sub_version: int
    """ms"""
    expression_type: str | None


ParsePull = Callable[[int, bytes], Pull | None]
"""Takes the code of a serialisation and the bytes of a header."""


def parse_pull_pure(serialize: int, header: bytes) -> Pull | None:
    """Leave every header to the general way."""
    return None


parse_pull: Final[ParsePull] = load(
    "mqserver.broker.pull.pull_header_kernel", "parse_pull_compiled", pure=parse_pull_pure
)
"""The short way in use."""
