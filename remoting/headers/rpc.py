"""The field shared by the requests that may name the broker they are meant for.

Source: common/rpc/RpcRequestHeader.java (4.9.7).
"""

from dataclasses import dataclass, field

from remoting.header import Header, key


@dataclass(frozen=True, slots=True, kw_only=True)
class Rpc(Header):
    """Base of the requests that may name the broker that they are meant for."""

    broker_name: str | None = field(default=None, metadata=key("bname"))
