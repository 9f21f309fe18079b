"""Prints who may ask what: ``docs/security.md``, by asking the gates themselves.

    every request code x {no key, bad signature, owner, other topics' owner, admin}

Rule: a cell is what the code answers, nothing is written by hand. The test of the documents
fails when a gate decides differently from what this says.
"""

import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import server.broker.handlers
from remoting.acl import sign
from remoting.bodies import (
    CheckClientRequestBody,
    ConsumerData,
    HeartbeatData,
    LockBatchRequestBody,
    MessageQueue,
    PlainAccessConfig,
    SubscriptionData,
    UnlockBatchRequestBody,
)
from remoting.codes import ExtensionCode, LaterCode, RequestCode
from remoting.command import Command
from server.broker.acl.accounts import AclError, account_of
from server.broker.acl.control import AccessControl
from server.broker.acl.files import AclFiles, AclTable
from server.broker.acl.rules import ADMIN_WRITES, rule_of
from server.broker.files.live_settings import CHANGEABLE, without_meaning
from server.namesrv.request_gate import ADMIN_CODES, BROKER_CODES
from server.runtime.registry import collect

PEER: Final = "192.0.2.1"
TOPIC, GROUP = "Orders", "billing"
OWNER, OTHER, ADMIN = "ownerKey", "otherKey", "adminKey"
SECRET: Final = "notASecret"

_FIELDS: Final = {
    "topic": TOPIC,
    "b": TOPIC,
    "a": "producers",
    "group": GROUP,
    "consumerGroup": GROUP,
    "commitLogOffset": "0",
    "offset": "0",
}
_QUEUES: Final = [MessageQueue(topic=TOPIC, broker_name="broker-a", queue_id=0)]
_BODIES: Final[Mapping[int, bytes]] = {
    RequestCode.HEART_BEAT: HeartbeatData(
        client_id="c",
        consumer_data_set=[
            ConsumerData(group_name=GROUP, subscription_data_set=[SubscriptionData(topic=TOPIC)])
        ],
    ).encode(),
    RequestCode.LOCK_BATCH_MQ: LockBatchRequestBody(
        consumer_group=GROUP, client_id="c", mq_set=_QUEUES
    ).encode(),
    RequestCode.UNLOCK_BATCH_MQ: UnlockBatchRequestBody(
        consumer_group=GROUP, client_id="c", mq_set=_QUEUES
    ).encode(),
    RequestCode.CHECK_CLIENT_CONFIG: CheckClientRequestBody(
        group=GROUP, subscription_data=SubscriptionData(topic=TOPIC)
    ).encode(),
}

_INTRODUCTION: Final = """\
# Who may ask what

{printed}
What a broker and a name server let pass, by whom. The tables are printed by asking the code.

## A broker with accounts: `aclEnable=true`

Accounts are in `<rocketmqHome>/conf/plain_acl.yml` and `conf/acl/**/*.yml`, as in RocketMQ 4.9,
and are read again within 5 s of a change. A request that fails is answered with code 1 and
`org.apache.rocketmq.acl.common.AclException: ` and the reason in Java's words.

4.9.7 checks permissions for nine request codes, asks five for an admin, and lets any known key do
the rest: change accounts, reset offsets, read any message by its offset, end the transactions of
others, send batches to any topic. Here a key may do what the permissions of its topics and groups
say, and everything else needs an admin. `aclStrict=false` gives back the rules of 4.9.7, for tools
that use an ordinary key, and a warning at the start; accounts are for admins even then.

Under both rules: signatures are compared in constant time; a secret key is neither answered (54
answers `******`) nor logged, and a changed file is readable by its owner only. A signature covers
values and body and [nothing else](#rights-that-the-signature-does-not-cover).
A peer on `globalWhiteRemoteAddresses` needs no key for anything, and one on the
`whiteRemoteAddress` of an account no signature for that account, as in Java: list none you do not
trust.

Rights are asked for what is read, not only for what a request names:

- A key query (12) answers only records whose topic and key are the ones that were asked for, with
  accounts and without. 4.9.7 answers whatever has the hash of topic and key, which is easily met.
- A message that is named by its log offset (33, 36, 37) is one to which the entry of a queue
  points. Bytes in the body of a message that look like a record are none.
- A message that names other queues in `INNER_MULTI_DISPATCH` needs PUB of each of them, in a
  batch, a reply and a trace, too.
- No default permission holds for the topics in which messages of all topics wait:
  `SCHEDULE_TOPIC_XXXX`, `RMQ_SYS_TRANS_HALF_TOPIC`, `RMQ_SYS_TRANS_OP_HALF_TOPIC` and
  `TRANS_CHECK_MAX_TIME_TOPIC`. An account that reads them names them.
- Producer groups have no permissions in 4.9, so whoever has a key may join any of them. With the
  question for the outcome of a transaction (39) a producer is sent the half message, so only
  producers whose account has PUB of its topic are asked. Who leaves a producer group (35) is in it,
  or has SUB of it.
- What a broker passes on to a client (307, 309) is without the signature of who asked.

The keys below: *owner* has PUB and SUB of the topic and SUB of the group that the request names,
*other* has them for another topic and group, *admin* is an admin without permissions.
"""

_NOT_SIGNED: Final = """\

## Rights that the signature does not cover

The signature of a request is made of the values of its fields, in the order of their names, and of
its body, as every client of 4.9 makes it. Not part of it
are, with what who can change the network may do about each:

- The request code: send signed fields under another code. An admin's question for the numbers of a
  topic (202) has the very field of the deletion of that topic (215).
- The names of fields, and where one value ends and the next begins: give a value to another field
  that comes at the same place.
- The time, and which connection it was: send the request again, later and from anywhere.
- Oneway, version, language, and the number that joins answer and question: ask without an answer,
  or mix up answers.
- Answers, and what a broker asks its clients: make them up.

Which rights a request needs is decided by the code that arrived and by the fields of that code, so
a request of an ordinary key never does more than the permissions of that key. The signature of an
admin is worth the most: under another code it changes whatever an admin may change.

What to do:

- Let nobody in between: `tls.server.mode=enforcing` with a certificate that clients check
  ([TLS](#tls)), and brokers, slaves and tools that use it.
- Use the key of an admin for administration only, from the broker's machine or through TLS. No
  application needs one.
- Let a firewall, or `bindAddress`, keep the ports from those who have no business there.
- A client id is whatever a client says: a reply (326) goes to the client that said first that it
  has the id. Put nothing into a reply that a stranger with a key may not read, or give those who
  request and those who reply a broker of their own.
"""

_WITHOUT: Final = """\

## A broker without accounts

Whatever only an administrator sends is taken from the broker's own machine (loopback, or the
address that it was asked at) and from `adminAddresses`, a comma separated list of patterns as in
`globalWhiteRemoteAddresses`; anybody else is answered code 16. `adminAddresses=*` gives back what
4.9.7 does, with a warning at the start. All other codes are open to everybody, as in 4.9.7.

| code | name |
| --- | --- |
"""

_SETTINGS: Final = """\

## Settings that can be changed at run time

`updateBrokerConfig` (25; `mqadmin broker config set` here) takes the settings below: what 4.9.7
looks at whenever it needs it, and some intervals that it takes at its start only. A change takes
effect at once. A request is taken whole or not at all, and checked as the configuration is.
It is answered when the change is on the disk, in
`<storePathRootDir>/config/changedSettings.properties`. At the next start this file wins over the
`-c` file, the environment and flags, and the log names each setting for which it does. Without a
line of it, or without the file and its `.bak`, what is configured counts again. (4.9.7 writes all
of its settings into the `-c` file.)

{changeable}

Accepted, kept and told by `getBrokerConfig`, which tells every key of 4.9.7, though nothing here
depends on them (the answer names them):

{idle}

Everything else is refused by name, unless the value is the one that is there: paths, addresses,
names, roles, access control, TLS, sizes of files, and what is set once at the start. Unknown keys
are refused with the nearest one that there is; 4.9.7 passes over them in silence. Of what 4.9.7
takes at run time these are set at the start here: `messageIndexEnable`, `enableMultiDispatch` and
`enableLmq`, since they say what recovery finds in the store, and `serverChannelMaxIdleTimeSeconds`.
No setting that is told holds a secret. Who may change settings: an admin, or without accounts this
machine and `adminAddresses`.

A name server changes `orderMessageEnable` only, until it stops.
"""

_NAMESRV: Final = """\

## Resources

A stranger who can connect uses up neither the descriptors nor the memory of a broker or a name
server, and does not keep others waiting. 4.9.7 has none of these limits.

| what | at most | beyond it |
| --- | --- | --- |
| connections of a port | `connectionsMax`, 65,536 | the first request is answered \
SYSTEM_BUSY, then closed; beyond 64 that wait for that, closed at once |
| connections of one address | `connectionsPerAddressMax`, 0 for no limit (clients behind one \
gateway share an address) | the same |
| connections of the process | its descriptors but a quarter and 64 (at most 1,024), which \
stay with the store; and a quarter of its memory at 16 KiB each | closed at once, one line in \
the log |
| new connections | 8 of a port in a turn of the event loop | they wait in \
`serverSocketBacklog` while others are served |
| connections of slaves | 32, from `slaveAddresses`, of those of the process | closed at once |
| bytes in flight, of all connections | `inFlightSizeMax`, a quarter of the memory, at least \
32 MiB | the address that holds most gives way: its connections that hold most are closed \
until an eighth is free |
| answers that one peer does not read | 64 MiB | its connection is closed; beyond 256 KiB \
nothing more is read from it |
| a frame | 16 MiB, as in 4.9.7 | its connection is closed with the first 8 bytes |
| the header of a frame | 256 KiB and 1,024 fields | the same |
| time for a frame, or for the first byte of a connection where TLS is on | 30 s | closed |
| time for a TLS handshake | 10 s | closed |
| silence | `serverChannelMaxIdleTimeSeconds`, 120 s | closed |

*Descriptors*: at the start the soft limit of open files is raised to the hard one. The store keeps
fewer files open where fewer than 4,096 may be. Without a descriptor (EMFILE, ENFILE) or without
memory (ENOMEM) for a write, a send is answered SERVICE_NOT_AVAILABLE (14) with the reason, or
FLUSH_DISK_TIMEOUT (10) where it was written and its sync has to be tried again; nothing of it is
acknowledged before it is safe, and the store goes on as soon as there are descriptors. No new
connection is taken for a quarter of a second then.

*Memory* is the least of what the machine has, what the control groups of the process allow (v2
and v1) and its RLIMIT_AS. In flight are the bytes of unfinished frames, of requests that were put
off, of answers that were not read, and of what a broker keeps for a connection. What an address
holds is the sum over its connections, so that nobody is closed for what others hold.

## What one request may cost

Both servers do everything on one thread, so nobody may make them do much at once:

- **SQL92** expressions have a limit of text and operands (docs/filters.md), and a pull stops
  looking when its tests have cost some 10 ms: it answers with what it has, and the client goes on
  from there. A heartbeat may hold 64 expressions.
- **A heartbeat** may subscribe each group to 4,096 topics, and a request that locks or unlocks
  queues may have a body of 1 MiB, some 10,000 queues. What is larger is refused with code 1.
- **Pulls that wait** are `heldPullCountMax` (65,536) in all, and one connection may take as many
  places as it leaves free, 10,000 at most. A pull that finds no room is answered at once, as if its
  time were over. Waiting pulls are answered in slices of some 2 ms, in order.
- **Batches** are read and stored in runs of 1,024 messages, with one answer in the end. Others
  may store messages between two runs. A batch that is no batch, or that is too large, is refused
  before anything of it is stored.
- **Long requests** (heartbeats, locks, registrations, lists and statistics of thousands of topics,
  queues or clients) are worked on in slices of some milliseconds; a thread reads and writes the
  large bodies. 256 of them may be under way, one more is answered SYSTEM_BUSY.

`tests/server/test_loop_watchdog.py` holds the worst input of every request code against 20 ms, with
5,000 topics and clients and 8,192 queues in a topic, a batch of 20,000 messages and a registration
of 50,000 topics.

## A name server

Who may connect at all: `allowedAddresses`, by default `*`. Whatever only an administrator sends is
taken from this machine and from `adminAddresses`:

| code | name |
| --- | --- |
"""

_REGISTER: Final = """\

Whatever only a broker sends is taken from this machine and from `brokerAddresses`, by default `*`:
a name server has no accounts, and who may register can say of any address that it is a broker.

| code | name |
| --- | --- |
"""

_TLS: Final = """\

## TLS

Both servers take TLS and plain connections on one port and tell them apart by the first byte:
`tls.server.mode` is `permissive` as in 4.9.7, `enforcing` closes plain connections, `disabled`
those of TLS. The default, `tls.test.mode.enable=true`, is a certificate made at the first need that
nobody can check: it keeps listeners out and no impostor. For a real one set it to `false`, with
`tls.server.certPath`, `tls.server.keyPath` and, if the key has one, `tls.server.keyPassword`; the
files are looked at again with each TLS connection. `tls.server.need.client.auth=require` with
`tls.server.authClient=true` and `tls.server.trustCertPath` lets in clients with a certificate only
(4.9.7 takes `require` without the other two and any certificate; here that is an error). The keys
stand in the `-c` file, or in the file of `tls.config.file` (`/etc/rocketmq/tls.properties`), which
wins and may not set the mode. No name is compared with a certificate: servers are reached by
address.
"""


class _Fixed(AclFiles):
    """Three accounts that are in no file."""

    def stamp(self) -> tuple[tuple[str, int, int, int], ...]:
        """Return that nothing ever changes."""
        return ()

    def load(self) -> AclTable:
        """Return the accounts of the printed table."""
        table = AclTable()
        for key, topic, group in ((OWNER, TOPIC, GROUP), (OTHER, "Other", "others")):
            table.accounts[key] = account_of(
                PlainAccessConfig(
                    access_key=key,
                    secret_key=SECRET,
                    topic_perms=[f"{topic}=PUB|SUB"],
                    group_perms=[f"{group}=SUB"],
                )
            )
        admin = PlainAccessConfig(access_key=ADMIN, secret_key=SECRET, admin=True)
        table.accounts[ADMIN] = account_of(admin)
        return table


def security(printed: str) -> str:
    """Return docs/security.md; ``printed`` is the mark of a printed document."""
    lines = [
        _INTRODUCTION.format(printed=printed),
        "| code | name | needs | no key | bad signature | owner | other | admin "
        "| 4.9.7: owner | 4.9.7: other |",
        "| --- " * 10 + "|",
    ]
    handled = collect(server.broker.handlers).codes()
    for code in sorted((*RequestCode, *LaterCode, *ExtensionCode)):
        if code in handled:
            cells = " | ".join(_cells(code))
            needs = rule_of(code, strict=True).text
            lines.append(f"| {code:d} | {code.name} | {needs} | {cells} |")
    parts = ["\n".join(lines) + "\n", _NOT_SIGNED, _WITHOUT + _listed(ADMIN_WRITES)]
    parts.append(_SETTINGS.format(changeable=_words(CHANGEABLE), idle=_words(without_meaning())))
    parts += [_NAMESRV, _listed(ADMIN_CODES), _REGISTER, _listed(BROKER_CODES)]
    return "".join([*parts, _TLS])


def _words(keys: Iterable[str]) -> str:
    """Return keys as one wrapped paragraph."""
    text = ", ".join(f"`{key}`" for key in sorted(keys)) + "."
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _name_of(code: int) -> str:
    return next(kind(code).name for kind in (RequestCode, ExtensionCode) if code in set(kind))


def _listed(codes: Iterable[int]) -> str:
    return "".join(f"| {code:d} | {_name_of(code)} |\n" for code in sorted(codes))


def _cells(code: int) -> list[str]:
    strict = [
        _says(code, None),
        _says(code, OWNER, secret="aWrongOne"),
        *(_says(code, key) for key in (OWNER, OTHER, ADMIN)),
    ]
    return [*strict, *(_says(code, key, strict=False) for key in (OWNER, OTHER))]


def _says(code: int, key: str | None, *, secret: str = SECRET, strict: bool = True) -> str:
    command = Command.request(code, body=_BODIES.get(code, b""))
    command.ext.update(_FIELDS)
    if key is not None:
        sign(command, key, secret)
    control = AccessControl(_Fixed(Path("/")), strict=strict, topic_at=lambda offset: TOPIC)
    try:
        control.check(PEER, command)
    except AclError:
        return "–"
    return "passes"
