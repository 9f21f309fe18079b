"""The recorded frames of real RocketMQ processes, as the relay saw them."""

import json
import struct
from functools import cache
from pathlib import Path
from typing import NamedTuple

SETS = ("json", "rocketmq", "acl", "5x_client", "raw_probe")
COUNTS = {"json": 308, "rocketmq": 202, "acl": 93, "5x_client": 66, "raw_probe": 111}


class Captured(NamedTuple):
    """One frame: its bytes, and what the relay made of them."""

    data: bytes
    serialize: int
    header: bytes
    body: bytes
    kind: str
    code: int
    opaque: int
    body_cut: bool
    pair: int


@cache
def frames(fact_tables: Path, name: str) -> tuple[Captured, ...]:
    """Return the frames of one recording; long bodies were recorded in part."""
    path = fact_tables / "captures" / f"frames_{name}.jsonl"
    return tuple(_frame(json.loads(line)) for line in path.read_text().splitlines())


def _frame(line: dict) -> Captured:
    serialize = {"JSON": 0, "ROCKETMQ": 1}[line["serialize"]]
    raw = line["header_raw"]
    header = bytes.fromhex(raw) if serialize else raw.encode()
    body = bytes.fromhex(line["body_hex"])
    head = struct.pack(">iI", 4 + len(header) + len(body), serialize << 24 | len(header))
    return Captured(
        head + header + body,
        serialize,
        header,
        body,
        line["kind"],
        line["code"],
        line["opaque"],
        line["body_len"] != len(body),
        line["pair"],
    )
