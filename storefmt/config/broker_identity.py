"""``brokerIdentity``: which broker of which group a store belongs to, in controller mode.

    brokerIdentity         C#g#1
    brokerIdentity-temp    C#g#1#10.0.0.1:10911;1795845620712    while the id is being taken

One line without a newline: cluster, broker name, id, and in the temporary file the code by which
the controller recognises this broker.

Source: store/ha/autoswitch/BrokerMetadata.java, TempBrokerMetadata.java (5.4.0).
"""

from typing import Final, NamedTuple

from storefmt.errors import ConfigDamaged

FILE_NAME: Final = "brokerIdentity"
TEMP_FILE_NAME: Final = "brokerIdentity-temp"
_ID_DIGITS_MAX: Final = 18


class BrokerIdentity(NamedTuple):
    """The content of one of the files."""

    cluster_name: str
    broker_name: str
    broker_id: int
    """The id in the group, from 1; not the brokerId of a route."""
    check_code: str = ""
    """``host:port;ms since 1970``; only in the temporary file."""


def decode(data: bytes) -> BrokerIdentity:
    """Return the content of a file.

    Raises:
        ConfigDamaged: it does not have three or four parts, or the id is not a number from 1.
    """
    try:
        parts = data.decode().split("#")
    except UnicodeDecodeError as error:
        raise ConfigDamaged(f"byte {error.start} is not UTF-8") from None
    if len(parts) not in (3, 4) or not all(parts):
        raise ConfigDamaged(f"{data[:80]!r}, expected cluster#broker#id or cluster#broker#id#code")
    digits = parts[2]
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _ID_DIGITS_MAX:
        raise ConfigDamaged(f"the id is {digits[:40]!r}, expected a number from 1")
    if int(digits) < 1:
        raise ConfigDamaged(f"the id is {digits}, expected a number from 1")
    return BrokerIdentity(parts[0], parts[1], int(digits), *parts[3:])


def encode(identity: BrokerIdentity) -> str:
    """Return the text of the file."""
    parts = [identity.cluster_name, identity.broker_name, str(identity.broker_id)]
    return "#".join(parts + [identity.check_code] * bool(identity.check_code))
