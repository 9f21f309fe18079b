"""Types of the compiled kernel, which is there only where it was built."""

from remoting.acl import Proof

def read_proof_compiled(serialize: int, header: bytes, body: bytes) -> Proof | None: ...
