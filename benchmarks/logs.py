"""Makes commit log files that look as those of a broker, the same bytes in every run."""

import random
from pathlib import Path

from storefmt.message import encode_record

FIRST_MS = 1_790_000_000_000
LOCALHOST = bytes((127, 0, 0, 1))
BODIES_SIZE = 1 << 20


def make_log(path: Path, *, size: int, body_size: int) -> None:
    """Write one commit log file of whole records, ``size`` bytes or a record less.

    Records differ in body, keys, unique key, tag, queue and time; 8 queues, 5 tags.
    """
    numbers = random.Random(body_size)
    bodies = numbers.randbytes(BODIES_SIZE + body_size)
    log_offset = number = 0
    with path.open("wb") as file:
        while True:
            start = numbers.randrange(BODIES_SIZE)
            now_ms = FIRST_MS + number // 20
            record = encode_record(
                topic=b"bench_topic",
                queue_id=number % 8,
                queue_offset=number // 8,
                log_offset=log_offset,
                flag=0,
                sys_flag=0,
                born_ms=now_ms - 2,
                born_host=LOCALHOST + (40_000).to_bytes(4, "big"),
                store_ms=now_ms,
                store_host=LOCALHOST + (10_911).to_bytes(4, "big"),
                reconsume_times=0,
                prepared_transaction_offset=0,
                body=bodies[start : start + body_size],
                properties=b"KEYS\x01order_%d\x02UNIQ_KEY\x017F000001%024X\x02TAGS\x01Tag%c"
                % (number, number, 65 + number % 5),
            )
            if log_offset + len(record) > size:
                return
            file.write(record)
            log_offset += len(record)
            number += 1
