"""Types of the compiled kernel, which is there only where it was built."""

from mqserver.proxy.http2.hpack import Field

class HeaderDecoderCompiled:
    def __init__(self, *, size_max: int = ..., count_max: int = ...) -> None: ...
    def decode(self, block: bytes) -> list[Field]: ...
