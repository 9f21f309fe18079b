"""Prints the part of ``docs/security.md`` about ACL 2.0: what each request needs.

Rule: the needs in the table are the words of the rules that the broker checks.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final

from mqserver.broker.acl.rules import OPEN_CODES, STRICT
from mqserver.broker.acl.user_rights import ALSO_CLUSTER, ALSO_STRICT, JAVA, READS

_TEXT: Final = """\

## A broker with ACL 2.0: `authenticationEnabled=true`

Users and rules are those of RocketMQ 5.3 and later. The commands `user` and `acl2` of mqadmin, or
`createUser`, `createAcl` and so on of Java's tool, change them (3001 to 3010). A *user* has a name,
a password, a status (`enable` or `disable`) and a type: a `Super` user may do everything, a
`Normal` one what its rules allow. A *rule* allows or denies actions (`Pub`, `Sub`, `Create`,
`Update`, `Delete`, `Get`, `List`, or `All`) on a resource (`Topic:orders`, `Group:bill*`,
`Cluster:*`, or `*`), from everywhere or from some addresses and networks. The narrowest matching
rule decides: one for a name comes before one for a prefix, then one for a type, then `*`; among
equals, `Deny` wins. A request that no rule allows is refused. `acl2 test USER ACTION RESOURCE`
shows the decision and its rule; broker and tool share the function that decides, which agrees with
5.4.0 in every case that a test tries.

| setting | meaning |
| --- | --- |
| `authenticationEnabled` | every request needs the signature of a user; with this alone, every \
user may do everything but change a Super user |
| `authorizationEnabled` | the rules are checked as well |
| `initAuthenticationUser` | `{"username":"…","password":"…"}`: a Super user that is created at \
the start if there is no user of this name |
| `innerClientAuthenticationCredentials` | `{"accessKey":"…","secretKey":"…"}`: the Super user \
with which this broker signs what it asks of its master and slaves, and what its gRPC port asks of \
brokers about topics and groups; it is created in the same way |
| `authenticationWhitelist` | request codes, joined by commas, that need no signature |
| `authorizationWhitelist` | request codes that need no rule |
| `migrateAuthFromV1Enabled` | at the start, the accounts of `plain_acl.yml` become users and \
rules; an admin becomes a Super user, and addresses that need no key are left out |
| `authenticationProvider` and the other class names | only the default classes of 5.x; any other \
is an error at the start |

These are the keys of 5.x, in the file of the broker. Write the two with a password into a file that
only the broker may read, not into a command line. `getBrokerConfig` and `-p` show `******` for
them.

`aclEnable` (accounts of 4.9) and `authenticationEnabled` together are an error at the start; 5.4.0
ignores `aclEnable`. So is `authorizationEnabled` without `authenticationEnabled`, because without
signatures any client could claim to be any user.

Users and rules are in `<storePathRootDir>/config/authUsers.json`, which is replaced atomically and
can be read by its owner only; 5.4.0 has them in RocksDB. As in 5.4.0 they are not copied to slaves:
each broker has its own, and `user` and `acl2` change them on every broker, slaves
included. A change counts at once and is answered when it is on the disk.

A request that is refused is answered with code 16 and the text of 5.4.0. The signature is checked
on the header, before anything of the body is decoded, and in constant time. No password is logged
or part of an error. What differs from 5.4.0:

- Only a Super user gets passwords. 5.4.0 returns them to everyone who has `Get` on the
  cluster. `copyUser` therefore needs a Super user.
- 5.4.0 checks rules only for requests whose header names something. Every user may send the
  others: change settings, create groups, fetch all offsets, end the transactions of others. Here
  these need the rights that [an account of 4.9](#a-broker-with-accounts-aclenabletrue) needs, or
  `Get` or `Update` on the cluster; see the last column. `aclStrict=false` brings back the rules of
  5.4.0, with a warning at the start.
- An unsigned request with a code on `authenticationWhitelist` has no name. In 5.4.0 it has the name
  that it gives itself, even that of a Super user.
- 1008 and 10005 need no user, as with accounts of 4.9, since controllers have none.
- gRPC clients of a broker with `grpcServerPort` sign as for accounts of 4.9, and an unknown user
  gets the answer of a wrong signature. Their calls are checked as by the proxy of 5.4.0, with the
  address of the client, and refused with `UNAUTHORIZED` and the same text. What brokers are then
  asked is signed by the user and checked again there, with the address of the endpoint: a rule for
  some addresses has to have that one as well. White lists name their requests as in
  `apache.rocketmq.v2.SendMessageRequest` (`authorizationWhitelist` only).
- `mqproxy` with `authenticationEnabled` (and `authorizationEnabled`) checks the same way, with the
  users and rules of the brokers. It fetches all of them every 5 s (`userCacheRefreshSecond`) from
  one master, signed by the Super user of its `innerClientAuthenticationCredentials`; encrypt that
  connection, because the answer has the passwords. While no broker answers they are used for 60 s
  (`userCacheExpiredSecond`), and then every call is refused with `INTERNAL_SERVER_ERROR` and the
  reason. 5.4.0's proxy fetches each user when it is named, again after 60 s, and uses it for 600 s
  while no broker answers.
- Topics and groups are compared as they are; there are no rules for namespaces.

| code | name | needs, as in 5.4.0 | needs in addition |
| --- | --- | --- | --- |
"""


def users(codes: Iterable[IntEnum]) -> str:
    """Return the part of docs/security.md about users and rules.

    Args:
        codes: the request codes that a broker handles, in the order of the table.
    """
    rows = (f"| {code:d} | {code.name} | {' | '.join(_needs(code))} |\n" for code in codes)
    return _TEXT + "".join(rows)


def _needs(code: int) -> Iterator[str]:
    if code in OPEN_CODES:
        yield from ("nothing, not even a user", "")
        return
    yield JAVA[code].text if code in JAVA else ""
    if code in STRICT and (code not in JAVA or code in ALSO_STRICT):
        yield STRICT[code].text.replace("PUB", "Pub").replace("SUB", "Sub")
    elif code not in JAVA or code in ALSO_CLUSTER:
        yield f"{'Get' if code in READS else 'Update'} on the cluster"
    else:
        yield ""
