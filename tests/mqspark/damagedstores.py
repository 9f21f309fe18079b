"""The damaged stores that every job is asked about."""

from pathlib import Path

from tests.golden import Golden
from tests.storefmt.offline.damages import LOG_OFFSETS, double_a_single_record
from tests.storefmt.offline.stores import store_of

CRASHED = ("crash/torn/crashed", "crash/hole/crashed", "crash/cqlost/crashed", "crash/mmap/crashed")


def stores_by_damage(golden: Golden) -> dict[str, Path]:
    """Return a store for each damage by its name, and those of crashed brokers."""
    stores = {one["case"]: golden.damaged(one["case"]) for one in golden.damages()}
    for change in (*LOG_OFFSETS, double_a_single_record):
        stores[change.__name__] = golden.store("basic")
        change(stores[change.__name__])
    return stores | {name: store_of(golden, name) for name in CRASHED}
