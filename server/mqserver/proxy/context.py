"""The context of one call of a gRPC client: who calls, from where, and until when.

    x-mq-client-id       names the client in all its calls; every call needs it
    x-mq-language, x-mq-client-version
    authorization        MQv2-HMAC-SHA1 Credential=KEY, SignedHeaders=x-mq-date-time, Signature=HEX
    x-mq-date-time       what is signed

Rule: with accounts, a call without a valid signature is refused before any work is done for it.
The proxy then signs what it asks of the brokers with the keys of the same account, so the brokers
decide what the account may do. As in RocketMQ 5, a signature covers a text of the client's choice
and not the request: it proves who asks, and TLS has to protect the rest.

Source: auth/authentication/builder/DefaultAuthenticationContextBuilder.java,
proxy/grpc/pipeline/ContextInitPipeline.java (5.4.0).
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.http2.stream import StreamConnection
from mqserver.proxy.protocol.codes import Code

CLIENT_ID: Final = "x-mq-client-id"
LANGUAGE: Final = "x-mq-language"
CLIENT_VERSION: Final = "x-mq-client-version"
DATE_TIME: Final = "x-mq-date-time"
AUTHORIZATION: Final = "authorization"
ALGORITHM: Final = "MQv2-HMAC-SHA1"
FAILED: Final = "Authentication failed. Please verify the credentials and try again."

SecretOf = Callable[[str], str | None]
"""Returns the secret key of an account by its access key; None when there is no such account."""


class Credentials(NamedTuple):
    """The keys that the proxy signs with for a client."""

    access_key: str
    secret_key: str


class ProxyContext(NamedTuple):
    """What is known about one call.

    Attributes:
        client_id: the name that the client gave itself.
        language: the language of the client, in upper case; "" when it sent none.
        version: the version of the client library; "" when it sent none.
        address: the address of the client, ``host:port``.
        deadline_ms: when the client gives up, in ms since 1970; None when it waits for ever.
        credentials: sign the requests to brokers; None without accounts.
        connection: of the client; None for one that has none.
    """

    client_id: str
    language: str
    version: str
    address: str
    deadline_ms: int | None
    credentials: Credentials | None
    connection: StreamConnection | None = None

    @property
    def ip(self) -> str:
        """The address to which the work for the call is charged."""
        return self.address.rpartition(":")[0]


Authorize = Callable[[object, ProxyContext], None]
"""Raises ProxyRefused if a client may not send a request, a draft of a send, or its settings."""


def context_of(
    metadata: Mapping[str, str],
    *,
    address: str,
    deadline_ms: int | None,
    secret_of: SecretOf | None,
    connection: StreamConnection | None = None,
) -> ProxyContext:
    """Return the context that the metadata of a call give.

    Args:
        metadata: names in lower case, and values.
        address: the address of the client, ``host:port``.
        deadline_ms: when the client gives up, in ms since 1970.
        secret_of: the accounts; None when access control is off.
        connection: of the client.

    Raises:
        ProxyRefused: the client id is missing, or the signature is missing or wrong.
    """
    credentials = None if secret_of is None else _credentials(metadata, secret_of)
    client_id = metadata.get(CLIENT_ID, "")
    if not client_id.strip():
        raise ProxyRefused(Code.CLIENT_ID_REQUIRED, "client id cannot be empty")
    return ProxyContext(
        client_id,
        metadata.get(LANGUAGE, "").upper(),
        metadata.get(CLIENT_VERSION, ""),
        address,
        deadline_ms,
        credentials,
        connection,
    )


def signature_of(secret_key: str, date_time: str) -> str:
    """Return the signature that a client sends, in hexadecimal."""
    return hmac.new(secret_key.encode(), date_time.encode(), hashlib.sha1).hexdigest()


def _credentials(metadata: Mapping[str, str], secret_of: SecretOf) -> Credentials:
    algorithm, _, fields = metadata.get(AUTHORIZATION, "").strip().partition(" ")
    pairs = (field.strip().partition("=") for field in fields.split(","))
    given = {name: value for name, _, value in pairs}
    # Some clients add the region and the service after the key.
    access_key = given.get("Credential", "").partition("/")[0]
    secret_key = secret_of(access_key)
    # An unknown account takes as long as a wrong signature, and gets the same answer.
    right = signature_of(secret_key or "", metadata.get(DATE_TIME, ""))
    is_right = hmac.compare_digest(right.encode(), given.get("Signature", "").lower().encode())
    if algorithm != ALGORITHM or secret_key is None or not is_right:
        raise ProxyRefused(Code.UNAUTHORIZED, FAILED)
    return Credentials(access_key, secret_key)
