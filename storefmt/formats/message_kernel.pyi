"""Types of the compiled kernel, which is there only where it was built."""

from storefmt.formats.message import Record

def decode_compiled(data: bytes, check_crc: bool) -> tuple[list[Record], int]: ...
