"""Prints ``docs/security.md``, which says who may send which request.

    every request code x {no key, bad signature, owner, other topics' owner, admin}

Rule: each cell of the tables is the decision of the access control itself; nothing is written by
hand. The test of the documents fails when the code decides differently from the printed page.
"""

import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import mqserver.broker.handlers
from docs import trust_attacks
from docs.costs import costs
from docs.users import users
from mqserver.broker.acl.accounts import AclError, account_of
from mqserver.broker.acl.acl_files import AclFiles, AclTable
from mqserver.broker.acl.control import AccessControl
from mqserver.broker.acl.rules import ADMIN_WRITES, rule_of
from mqserver.broker.acl.scope import Scopes
from mqserver.broker.files.live_settings import CHANGEABLE, without_meaning
from mqserver.namesrv.request_gate import ADMIN_CODES, BROKER_CODES
from mqserver.runtime.registry import collect
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
from remoting.signing import sign_for

PEER: Final = "192.0.2.1"
RECEIVER: Final = "192.0.2.2:10911"
NOW_MS: Final = 1_795_368_000_000
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
# Who may send which request

{printed}
This page says which requests a broker and a name server accept, and from whom. The tables are
printed by the code that decides it.

## A broker with accounts: `aclEnable=true`

Accounts are in `<rocketmqHome>/conf/plain_acl.yml` and `conf/acl/**/*.yml`, as in RocketMQ 4.9,
and are read again within 5 s of a change, once the files have been the same twice, so that an
editor that empties a file before it writes it does not lock anyone out. `mqproxy` reads them in
the same way. A request that is refused is answered with code 1 and
`org.apache.rocketmq.acl.common.AclException: ` and the reason in Java's words.

4.9.7 checks permissions for nine request codes, requires an admin for five, and lets any known key
do the rest: change accounts, reset offsets, read any message by its offset, end the transactions of
others, send batches to any topic. Here a key may do what the permissions of its topics and groups
say, and everything else needs an admin. `aclStrict=false` brings back the rules of 4.9.7, for tools
that use an ordinary key, with a warning at the start; even then only admins may change accounts.

Under both rules signatures are compared in constant time. A secret key is neither answered (54
answers `******`) nor logged, and a changed file can be read by its owner only. A signature covers
values and body; those of our own programs also cover [the request, the server and the
time](#rights-that-the-signature-does-not-cover).
As in Java, a peer on `globalWhiteRemoteAddresses` needs no key for anything, and a peer on the
`whiteRemoteAddress` of an account needs no signature for that account, so list only addresses that
you trust.

Permissions are checked for what a request reads, not only for what it names:

- A key query (12) answers only records whose topic and key are the ones that were asked for, with
  accounts and without. 4.9.7 answers every record with the same hash of topic and key, and such a
  collision is easy to make.
- A message can be named by its log offset (33, 36, 37) only if the entry of a queue points to it.
  Bytes in the body of a message that look like a record do not count.
- A message that names other queues in `INNER_MULTI_DISPATCH` needs PUB of each of them, also in a
  batch, a reply and a trace.
- Default permissions do not apply to the topics in which messages of all topics wait:
  `SCHEDULE_TOPIC_XXXX`, `RMQ_SYS_TRANS_HALF_TOPIC`, `RMQ_SYS_TRANS_OP_HALF_TOPIC` and
  `TRANS_CHECK_MAX_TIME_TOPIC`. An account that reads them has to name them in its permissions.
- Producer groups have no permissions in 4.9, so every key may join any of them. The check of a
  transaction (39) sends the half message to a producer, so only producers whose account has PUB of
  its topic are asked. A client that removes itself from a producer group (35) has to be in it, or
  to have SUB of it.
- A request that a broker passes on to a client (307, 309) does not carry the signature of the
  sender.
- With accounts every call of a gRPC client needs a signature (`MQv2-HMAC-SHA1` with the secret of
  an account); white lists do not apply to them. It covers the time that the client names and not
  the call, so use TLS. The endpoint signs what it asks of brokers with the keys of the same
  account, and these rules decide there. It reaches brokers from its own address: with that address
  on a white list (127.0.0.1 where a broker serves gRPC itself), any account may do everything by
  gRPC.

In the table *owner* has PUB and SUB of the topic and SUB of the group that the request names,
*other* has them for another topic and group, and *admin* is an admin without permissions.
"""

_NOT_SIGNED: Final = """\

## Rights that the signature does not cover

The signature of a request is made of the values of its fields, in the order of their names, and of
its body, as in every client of 4.9. **Our clients, tools, slaves and proxies add a field** that
comes first in that order, `AccessFor`, with the request code, the time and the address of the
server. The signed content therefore begins with its purpose. Our brokers refuse such a signature
for another code, another address than their own or a time more than 15 minutes away; Java's
brokers verify it as one more field. Keep the clocks of clients and brokers in step. Where a broker
is reached by an address that it does not know (a tunnel, a port of a container), map it in a
context (`--map ADVERTISED=REAL` of `mqadmin context add`). Our own request codes (10001 to 10004)
need such a signature. 10005, with which brokers ask each other for their epoch, needs no key; its
answer carries a proof that covers the challenge in the question.

The rest of this section is about signatures of Java's clients and about Java's brokers. The
following is not part of such a signature, so an attacker who can change the network traffic can do
this:

- The request code is not signed: the attacker can send signed fields under another code. An admin's
  request for the statistics of a topic (202) has the same field as the deletion of that topic
  (215).
- The names of fields, and the boundaries between values, are not signed: the attacker can give a
  value to another field that comes at the same place.
- The time and the connection are not signed: the attacker can send the request again, later and
  from anywhere.
- The oneway flag, version, language and opaque number are not signed: the attacker can send the
  request without an answer, or mix up answers.
- Answers, and requests of a broker to its clients, are not signed: the attacker can forge them.

The code that arrived, and the fields of that code, decide which permissions a request needs. So a
request of an ordinary key never does more than the permissions of that key. The signature of an
admin is worth the most: under another code it changes anything that an admin may change.

What to do:

- Keep attackers out of the connection: set `tls.server.mode=enforcing` with a certificate that
  clients check ([TLS](#tls)), and let brokers, slaves and tools use it.
- Use the key of an admin for administration only, from the broker's machine or through TLS. No
  application needs one.
- Use a firewall, or `bindAddress`, to keep all other machines away from the ports.
- A client chooses its client id freely: a reply (326) goes to the client that claimed the id first.
  Put nothing into a reply that a stranger with a key may not read, or give requesters and repliers
  a broker of their own.
"""

_WITHOUT: Final = """\

## A broker without accounts

Requests that only an administrator sends are accepted from the broker's own machine (loopback, or
the address to which the request was sent) and from `adminAddresses`, a comma separated list of
patterns as in `globalWhiteRemoteAddresses`. Other peers get code 16. `adminAddresses=*` brings
back the behaviour of 4.9.7, with a warning at the start. All other codes are open to every peer, as
in 4.9.7.

| code | name |
| --- | --- |
"""

_SETTINGS: Final = """\

## Settings that can be changed at run time

`updateBrokerConfig` (25; here `mqadmin broker config set`) changes the settings below:
those that 4.9.7 reads whenever it needs them, and some intervals that it reads only at its start. A
change takes effect at once. A request is accepted as a whole or not at all, and checked like the
configuration. It is answered when the change is on the disk, in
`<storePathRootDir>/config/changedSettings.properties`. At the next start this file overrides the
`-c` file, the environment and flags, and the log names each setting for which it does. When a line
of it is deleted, or the file together with its `.bak`, the configured value counts again. (4.9.7
writes all of its settings into the `-c` file.)

{changeable}

The following settings have no effect here. They are accepted, kept and returned by
`getBrokerConfig`, which returns every key of 4.9.7, and the answer to a change names them:

{idle}

Changes of all other settings are refused by name, unless the value stays the same: paths,
addresses, names, roles, access control, TLS, sizes of files, and what is set once at the start.
Unknown keys are refused, and the answer names the nearest known key; 4.9.7 ignores them silently.
Some settings that 4.9.7 changes at run time are set at the start here: `messageIndexEnable`,
`enableMultiDispatch` and `enableLmq`, since recovery relies on them, and
`serverChannelMaxIdleTimeSeconds`. No setting that `getBrokerConfig` returns holds a secret. An
admin may change settings; without accounts this machine and `adminAddresses` may.

A name server changes only `orderMessageEnable`, until it stops.
"""

_NAMESRV: Final = """\

## Resources

A stranger who can connect cannot use up the descriptors or the memory of a broker or a name server,
nor keep others waiting. 4.9.7 has none of these limits.

| what | limit | beyond the limit |
| --- | --- | --- |
| connections of a port | `connectionsMax`, 65,536 | the first request is answered \
SYSTEM_BUSY, then the connection is closed; when 64 already wait for that, it is closed at once |
| connections of one address | `connectionsPerAddressMax`, 0 for no limit (clients behind one \
gateway share an address) | the same |
| connections of the process | its descriptors minus a quarter and 64 (at most 1,024), which \
are reserved for the store; and a quarter of its memory at 16 KiB each | closed at once, with one \
line in the log |
| new connections | 8 of a port in a turn of the event loop; in a longer turn as many as a \
quarter of its time is enough for, 5 ms at most | they wait in `serverSocketBacklog` while others \
are served |
| connections of slaves | 32, from `slaveAddresses`; they count for the process | closed at once |
| bytes of the log that a slave has not taken | 5 MiB; they are not counted below | nothing more \
is read from the log for it |
| bytes in flight, of all connections | `inFlightSizeMax`, a quarter of the memory, at least \
32 MiB | the address that holds most has to yield: its connections that hold most are closed \
until an eighth is free |
| answers that one peer does not read | 64 MiB | its connection is closed; already beyond \
256 KiB nothing more is read from it |
| a frame | 16 MiB, as in 4.9.7 | its connection is closed after the first 8 bytes |
| the header of a frame | 256 KiB and 1,024 fields | the same |
| time for a frame, or for the first byte of a connection if TLS is on | 30 s | closed |
| time for a TLS handshake | 10 s | closed |
| TLS handshakes that begin in a turn of the event loop | 4, of each address in turn | they wait, \
1,024 of an address at most |
| time without traffic | `serverChannelMaxIdleTimeSeconds`, 120 s | closed |
| requests in a turn of the event loop | 4 ms of all connections, each 1 ms after the other | they \
wait in their connection, charged, and nothing more is read from it |
| open pops | 1,000,000, or what takes half of `inFlightSizeMax`; of a group as many as are free | \
answered 209 (polling full) |
| calls of a gRPC connection | 1,024 at a time | further ones are refused; clients \
wait and try again |
| headers of a gRPC call; a request | 16 KiB; 16 MiB, with 16,384 fields and items | the \
connection is closed; the call fails |

The port of gRPC clients shares descriptors and bytes in flight with the others. `connectionsMax`
does not count its connections. `connectionsPerAddressMax` limits them on this port separately; one
that is too many is closed at once. What its clients make it do, and what that costs, is
[below](#what-a-peer-can-make-a-server-hold-or-do).

*Descriptors*: at the start the soft limit of open files is raised to the hard limit. The store
keeps fewer files open if the limit is below 4,096. When there is no descriptor (EMFILE, ENFILE) or
no memory (ENOMEM) for a write, a send is answered SERVICE_NOT_AVAILABLE (14) with the reason, or
FLUSH_DISK_TIMEOUT (10) if it was written and its sync has to be tried again. Nothing is
acknowledged before it is safe, and the store continues as soon as there are descriptors. The server
then does not accept connections for a quarter of a second.

*A flood of connections*: 1,600 connections a second, each reset at once, raised the p99 of another
client's sends from 0.7 to 1.2 ms on two quiet cores. A flood of another broker on the same machine
raised it to 1.5 ms ([benchmarks](benchmarks.md#sends-beside-a-flood-of-connections)).

*Memory* is the least of what the machine has, what the control groups of the process allow (v2
and v1) and its RLIMIT_AS. In flight are the bytes of unfinished frames, of postponed requests, of
answers that were not read, and of what a broker keeps for a connection: requests that wait for a
disk or are processed in slices, and the expressions of pulls that wait. An address is charged with
the sum over its connections, so that no connection is closed for what other addresses hold.

## What one request may cost

Both servers do everything on one thread, so no request may make them do much work at once:

- **SQL92** expressions have limits of text and operands (docs/filters.md), and a pull stops
  filtering when its tests have taken some 10 ms: it answers with what it has, and the client goes
  on from there. A heartbeat may hold 64 expressions. The tags that a pull carries may have 65,536
  characters; a longer text is refused with code 23.
- **A heartbeat** may subscribe each group to 4,096 topics, and a request that locks or unlocks
  queues may have a body of 1 MiB, some 10,000 queues. Larger ones are refused with code 1.
- **Held pulls** are limited to `heldPullCountMax` (65,536) in all. One connection may have no more
  of them than there are free places, and 10,000 at most. A pull that exceeds the limit is
  answered at once, as if its time were over. Held pulls are answered in order, in slices of some 2
  ms.
- **Batches** are read and stored in runs of 1,024 messages, with one answer at the end. Messages of
  other producers may be stored between two runs. A batch that is malformed or too large is refused
  before any message of it is stored.
- **Long requests** (heartbeats, locks, registrations, lists and statistics of thousands of topics,
  queues or clients) are processed in slices of some milliseconds; a thread reads and writes the
  large bodies. 256 of them may be under way; one more is answered SYSTEM_BUSY.
- **A query by key** reads the entries of all keys that share its slot of the index. It looks
  at 1,000 of them at a time and lets other requests run in between. The answer has the newest
  records, 8 MiB of them at most unless one is larger. 4.9.7 sends any number of bytes, but its
  clients close the connection when a frame has more than 16 MiB.
- **Reads that have to wait for the disk** are done by four threads. When the reads that they do or
  wait for hold 128 descriptors, further reads wait without one.

`tests/server/test_loop_watchdog.py` checks that the worst input of every request code occupies the
event loop for less than 20 ms, with 5,000 topics and clients and 8,192 queues in a topic, a batch
of 20,000 messages, a registration of 50,000 topics and 200,000 index entries in the slot of a key.

## A name server

`allowedAddresses`, by default `*`, says who may connect at all. Requests that only an administrator
sends are accepted from this machine and from `adminAddresses`:

| code | name |
| --- | --- |
"""

_REGISTER: Final = """\

Requests that only a broker sends are accepted from this machine and from `brokerAddresses`, which
is empty by default. A name server does not have accounts, so any peer that may register can declare
any address to be a broker. `brokerAddresses=*` is as open as Java, with a warning at the start;
the name server then does not keep epochs of other machines. A refused broker gets code 16 and the
setting that admits it, also as a line in the log; a Java broker writes the answer into its own
log. Addresses in
the list may replace and unregister each other's brokers, as a promotion needs. An address of this
machine that is not in the list may change only what it registered itself, so where a broker on the
machine of the name server has peers elsewhere, list its address as well
(`brokerAddresses=127.0.0.1,10.0.0.*`).

One address may register `registeredBrokerCountMax` brokers (256), with `registeredTopicCountMax`
topics (500,000) and `registeredSizeMax` bytes (128 MiB).

| code | name |
| --- | --- |
"""

_TLS: Final = """\

## TLS

Both servers accept TLS and plain connections on one port and tell them apart by the first byte.
`tls.server.mode` is `permissive` as in 4.9.7; `enforcing` closes plain connections, and `disabled`
closes TLS connections. By default (`tls.test.mode.enable=true`) the server makes a certificate when
it is first needed. Clients cannot check it: it protects against eavesdroppers, but not against an
impostor. For a real certificate set this to `false`, and set `tls.server.certPath`,
`tls.server.keyPath` and, if the key has a password, `tls.server.keyPassword`. Each TLS connection
checks whether the files have changed. `tls.server.need.client.auth=require` with
`tls.server.authClient=true` and `tls.server.trustCertPath` accepts only clients with a certificate
(4.9.7 accepts `require` without the other two, and then any certificate; here that is an error).
The settings are in the `-c` file, or in the file of `tls.config.file`
(`/etc/rocketmq/tls.properties`), which overrides it and may not set the mode. No name is compared
with a certificate, because servers are reached by address.
"""

_SERVICE: Final = """\

## As a service and in a container

The units in [server/systemd](../server/systemd) run both servers as the user `rocketmq`.
Their restrictions limit an attacker who takes a server over:

- `NoNewPrivileges`, `RestrictSUIDSGID` and an empty `CapabilityBoundingSet`: no rights that the
  user does not have.
- `SystemCallFilter=@system-service` without `@privileged` and `@resources`, and
  `SystemCallArchitectures=native`: no system calls that load modules, mount, set clocks or change
  priorities. A test compares the filter with all system calls of both servers.
- `MemoryDenyWriteExecute` and `LockPersonality`: no memory that is both writable and executable. A
  filter server compiles code while it runs, so its unit has to leave this out.
- `RestrictAddressFamilies`, `RestrictNamespaces` and `RestrictRealtime`: only IP and Unix sockets,
  no namespaces, and no realtime scheduling.
- `ProtectSystem=strict`, `ProtectHome`, `PrivateTmp` and `StateDirectory`: nothing is writable but
  `/var/lib/rocketmq`, and homes are hidden. A store elsewhere needs `ReadWritePaths=`, and one
  below `/home` also `ProtectHome=no`, in a drop-in (`systemctl edit mqbroker`).
- `PrivateDevices`, `ProtectClock`, `ProtectHostname`, `ProtectControlGroups` and `ProtectKernel…`:
  no devices, and no settings of the machine.
- `ProtectProc=invisible`: no processes of other users.
- `RemoveIPC` and `UMask=0077`: no shared memory that stays, and no files that others can read.

[server/Containerfile](../server/Containerfile) installs the versions of
`requirements/shell.lock`, checked by their hashes, and leaves the compiler out of the image. The
servers run as user 10911, who owns `/var/lib/rocketmq` and nothing else. They do not need
capabilities (`--cap-drop=all --security-opt=no-new-privileges`). No test runs a container.
"""

_TRUST: Final = """\

## Attacks: who may say what

"""

_HOSTILE_FILES: Final = """\

## Attacks: files from untrusted sources

Tools read documents, exports, stores and archives that may come from anywhere.

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
    handled = collect(mqserver.broker.handlers).codes()
    codes = [code for code in sorted((*RequestCode, *LaterCode, *ExtensionCode)) if code in handled]
    for code in codes:
        cells = " | ".join(_cells(code))
        needs = rule_of(code, strict=True).text
        lines.append(f"| {code:d} | {code.name} | {needs} | {cells} |")
    parts = ["\n".join(lines) + "\n", users(codes), _NOT_SIGNED]
    parts.append(_WITHOUT + _listed(ADMIN_WRITES))
    parts.append(_SETTINGS.format(changeable=_words(CHANGEABLE), idle=_words(without_meaning())))
    parts += [_NAMESRV, _listed(ADMIN_CODES), _REGISTER, _listed(BROKER_CODES)]
    attacks = [_TRUST, trust_attacks.table(trust_attacks.ATTACKS)]
    attacks += [
        _HOSTILE_FILES,
        trust_attacks.table(trust_attacks.FILES),
        "\n",
        "\n".join(costs()) + "\n",
    ]
    return "".join([*parts, _TLS, _SERVICE, *attacks])


def _words(keys: Iterable[str]) -> str:
    """Return keys as one wrapped paragraph."""
    text = ", ".join(f"`{key}`" for key in sorted(keys)) + "."
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


_KINDS: Final = (RequestCode, LaterCode, ExtensionCode)


def _name_of(code: int) -> str:
    return next(kind(code).name for kind in _KINDS if code in set(kind))


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
        sign_for(command, key, secret, receiver=RECEIVER, now_ms=NOW_MS)
    control = AccessControl(
        _Fixed(Path("/")),
        strict=strict,
        topic_at=lambda offset: TOPIC,
        scopes=Scopes(lambda: {RECEIVER}, lambda: NOW_MS),
    )
    try:
        control.check(PEER, command)
    except AclError:
        return "–"
    return "passes"
