"""Types of the compiled kernel, which is there only where it was built."""

from array import array

def scan_compiled(
    data: memoryview, pos: int, end: int, check_crc: bool
) -> tuple[array[int], int]: ...
