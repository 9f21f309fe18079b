"""Types of the compiled kernel, which is there only where it was built."""

from collections.abc import Mapping

from remoting.codes import LanguageCode
from remoting.fast_path import Stored

class SendFramesCompiled:
    def __init__(self, ext: Mapping[str, str], language: LanguageCode = ...) -> None: ...
    def frame(
        self, opaque: int, *, sys_flag: int, born_ms: int, flag: int, properties: str, body: bytes
    ) -> bytes: ...

def read_stored_compiled(data: bytes) -> tuple[list[Stored], int]: ...
