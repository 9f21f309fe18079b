"""Types of the compiled kernel, which is there only where it was built."""

from mqserver.store.commitlog.picking import GetLimits, Picked, TagCodes

def pick_compiled(
    data: bytes | bytearray, limits: GetLimits, codes: TagCodes | None
) -> Picked | None: ...
