"""Kernels convert Python integers through ``storefmt.formats.checked_int`` alone."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("remoting", "server", "storefmt")
KERNELS = sorted(
    path
    for name in PACKAGES
    for kind in ("pyx", "pxd")
    for path in (ROOT / name).rglob(f"*.{kind}")
)
ITEM = re.compile(r"\bitem\(\w+, \w+\)")
CHECKED = re.compile(r"\b(?:java_int|java_long|int_bits)\(item\(\w+, \w+\)\)")
CAST = re.compile(r"<\s*(?:u?int\d+_t|unsigned|size_t|Py_ssize_t)[^>]*>\s*(?:item|crc32)\(")


def test_no_kernel_casts_an_object_to_a_number() -> None:
    casts = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in KERNELS
        for line in path.read_text().splitlines()
        if CAST.search(line)
    ]

    assert casts == []


def test_each_number_of_a_record_is_converted_with_a_check() -> None:
    unchecked = []
    for path in KERNELS:
        for line in path.read_text().splitlines():
            rest = CHECKED.sub("", line)
            if "cdef" in line and ITEM.search(rest) and re.search(r"u?int\d+_t|Py_ssize_t", rest):
                unchecked.append(f"{path.relative_to(ROOT)}: {line.strip()}")

    assert unchecked == []
    assert sum(len(CHECKED.findall(path.read_text())) for path in KERNELS) >= 5
