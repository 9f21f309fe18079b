"""Types of the compiled kernel, which is there only where it was built."""

from typing import Any

from mqserver.proxy.protocol.protobuf import WireMessage

class CompiledCodec:
    def __init__(self, cls: type[WireMessage]) -> None: ...
    def decode(self, data: bytes, items_max: int = ...) -> tuple[Any, int]: ...
    def encode(self, message: Any) -> bytes: ...
