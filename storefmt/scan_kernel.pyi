"""Types of the compiled kernel, which is there only where it was built."""

def scan_compiled(
    data: memoryview, pos: int, end: int, check_crc: bool
) -> tuple[list[int], int]: ...
