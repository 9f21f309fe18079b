"""The signature of a request, as RocketMQ's ACL requires it.

    content   = values of all ext fields in the order of their keys, then the body
    Signature = base64(HmacSHA1(secret key, content))

Rule: a request must be sent exactly as it was signed, so sign it last, after every other field is
set. Keys are compared as Java compares strings, by UTF-16 units. A 4.9.7 broker leaves
``_UNIQUE_KEY_QUERY`` out when it checks, while the 4.9.7 client signs it: ``signatures_of`` returns
both forms.

Source: acl/common/AclUtils.java, acl/common/AclSigner.java, acl/common/AclClientRPCHook.java.
"""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from remoting.command import Command
from storefmt.kernels import load

ACCESS_KEY: Final = "AccessKey"
SECURITY_TOKEN: Final = "SecurityToken"
SIGNATURE: Final = "Signature"
OF_THE_SIGNATURE: Final = frozenset({ACCESS_KEY, SECURITY_TOKEN, SIGNATURE, "AccessFor"})
"""The fields that identify the sender and prove it; they must not be passed on to anybody else."""
UNIQUE_KEY_QUERY: Final = "_UNIQUE_KEY_QUERY"


class Proof(NamedTuple):
    """What proves the sender of a request.

    Attributes:
        access_key: the name of its account; None if it gives none.
        signature: its signature; empty if it gives none.
        content: the bytes that had to be signed.
    """

    access_key: str | None
    signature: bytes
    content: bytes


def content_of(ext: Mapping[str, str], body: bytes, *, left_out: str | None = None) -> bytes:
    """Return the bytes that are signed.

    Args:
        ext: all fields of the request; a Signature among them is left out.
        body: the request's body.
        left_out: one more key to leave out, if any.
    """
    names = sorted(ext, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    values = [ext[name] for name in names if name not in (SIGNATURE, left_out)]
    return "".join(values).encode() + body


def signature_of(content: bytes, secret_key: str) -> str:
    """Return the base64 HmacSHA1 of ``content``."""
    digest = hmac.new(secret_key.encode(), content, hashlib.sha1).digest()
    return base64.b64encode(digest).decode("ascii")


def signatures_of(ext: Mapping[str, str], body: bytes, secret_key: str) -> tuple[str, ...]:
    """Return every signature a server has to accept for these fields and this body."""
    accepted = [signature_of(content_of(ext, body), secret_key)]
    if UNIQUE_KEY_QUERY in ext:
        shorter = content_of(ext, body, left_out=UNIQUE_KEY_QUERY)
        accepted.append(signature_of(shorter, secret_key))
    return tuple(accepted)


def is_signed(command: Command, secret_key: str) -> bool:
    """Return True when the command carries a signature made with ``secret_key``."""
    given = command.ext.get(SIGNATURE, "").encode("utf-8", "surrogatepass")
    accepted = signatures_of(command.ext, command.body, secret_key)
    return any(hmac.compare_digest(given, signature.encode()) for signature in accepted)


def sign(
    command: Command, access_key: str, secret_key: str, *, security_token: str | None = None
) -> None:
    """Set access key and signature in the fields of ``command``, as a Java client does.

    The signature covers values and body only, so programs of ours use ``remoting.signing``.

    Args:
        command: the request, complete except for these fields.
        access_key: the name of the account.
        secret_key: the key that makes the signature; it is not sent.
        security_token: the token of a temporary account, None without one.
    """
    command.ext[ACCESS_KEY] = access_key
    if security_token is not None:
        command.ext[SECURITY_TOKEN] = security_token
    command.ext[SIGNATURE] = signature_of(content_of(command.ext, command.body), secret_key)


ReadProof = Callable[[int, bytes, bytes], Proof | None]
"""Takes serialisation, header and body of a request; None leaves it to ``is_signed``."""


def read_proof_pure(serialize: int, header: bytes, body: bytes) -> Proof | None:
    """Leave every request to ``is_signed``."""
    return None


read_proof: Final[ReadProof] = load(
    "remoting.acl_kernel", "read_proof_compiled", pure=read_proof_pure
)
"""The short way in use."""
