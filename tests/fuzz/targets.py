"""Every target, by name."""

from tests.fuzz.column_targets import column_targets
from tests.fuzz.grpc_targets import grpc_targets
from tests.fuzz.send_targets import send_targets
from tests.fuzz.store_targets import store_targets
from tests.fuzz.target import Target
from tests.fuzz.text_targets import text_targets
from tests.fuzz.wire_targets import wire_targets

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        *store_targets(),
        *column_targets(),
        *text_targets(),
        *wire_targets(),
        *send_targets(),
        *grpc_targets(),
    )
}
