"""Types of the compiled kernel, which is there only where it was built."""

from mqserver.broker.pull.pull_header import Pull

def parse_pull_compiled(serialize: int, data: bytes) -> Pull | None: ...
