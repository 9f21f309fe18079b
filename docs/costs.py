"""The part of ``docs/security.md`` about what a peer can make a server do, and what that costs.

Rule: sizes and limits are those of the code. What was measured is written here by hand, with the
test that counts the same without a clock: growth of a broker with a budget of 64 MiB.
"""

from typing import Final, NamedTuple

from mqserver.proxy.clients.sessions import (
    LINK_SHARE,
    SESSIONS_PER_ADDRESS,
    SESSIONS_PER_CONNECTION,
)
from mqserver.proxy.clients.telemetry_commands import COMMANDS_MAX
from mqserver.proxy.http2.calls import INFLATIONS_MAX, LONG_AT_ONCE
from mqserver.proxy.http2.connection import CONTINUATIONS_MAX, HEADERS_A_SLICE, STREAMS_MAX
from mqserver.proxy.http2.hpack import LIST_SIZE_MAX
from mqserver.proxy.protocol.protobuf import ITEMS_MAX
from mqserver.proxy.service import FEW_ITEMS_MAX
from remoting.aio.costs import PRICES
from remoting.aio.starts import (
    CALLS_A_TURN,
    HANDSHAKES_A_TURN,
    HANDSHAKES_WAITING,
    PIECES_A_TURN,
)
from remoting.aio.turns import SLICE_S, TURN_S

_TESTS: Final = "tests/server/proxy"
_MS: Final = 1000


class Attack(NamedTuple):
    """A way to use up a server, and what is promised about it."""

    what: str
    promised: str
    test: str
    measured: str


ATTACKS: Final = (
    Attack(
        "messages without end, even empty ones, in a call that takes one",
        "the call ends with its second message; a client that sends more loses the connection",
        f"{_TESTS}/http2/test_attacks.py",
        "560 MB on 110 connections in 4 s: +0 MB; the longest turn took 4 ms of CPU",
    ),
    Attack(
        "gzip bombs",
        f"the most that may come out is charged before, {INFLATIONS_MAX} are inflated at a time, "
        "one message may become an eighth of the budget; addresses take turns",
        f"{_TESTS}/http2/test_attacks.py",
        "300 requests of 16 KB that become 16 MiB: +35 MB, p99 of others 13 ms; 110 with packed "
        "lists: +27 MB, 8 ms",
    ),
    Attack(
        "lists and messages of very many items",
        f"a request has {ITEMS_MAX:,} fields and items in all, each charged until the call ends",
        f"{_TESTS}/test_protobuf.py",
        "Telemetry with lists of 8,000 topics, 20 at a time: +24 MB, 1.2 s of CPU in 4 s",
    ),
    Attack(
        "commands without end in Telemetry streams, empty, full or compressed",
        "decoded in the time that all connections share, charged until they are handled",
        f"{_TESTS}/http2/test_attacks.py",
        "100 streams of empty commands, 58 MB in 4 s: +67 MB; 250 settings of 8 MB in gzip on each "
        "connection: +51 MB",
    ),
    Attack(
        "calls without a signature, with accounts",
        "refused by the header alone: nothing of the body is kept, inflated or decoded",
        f"{_TESTS}/test_signatures.py",
        "empty messages until the connection is closed, 7 MB: +0 MB; 100 gzip requests of 16 KB: "
        "+1 MB",
    ),
    Attack(
        "very many client ids",
        f"only a client with settings has a session, {SESSIONS_PER_CONNECTION} on a connection and "
        f"{SESSIONS_PER_ADDRESS:,} of an address; all their connections to brokers take one in "
        f"{LINK_SHARE} of the descriptors, and end with the stream",
        f"{_TESTS}/test_sessions.py",
        "3,000 ids on one connection, each reset at once: 26 descriptors, +3 MB; 2,950 that stay "
        ": 198 descriptors at most, 29 afterwards",
    ),
    Attack(
        "SETTINGS and WINDOW_UPDATE with very many open calls",
        "each entry costs the same however many calls are open",
        f"{_TESTS}/http2/test_attacks.py",
        "66 KB of SETTINGS, 4,096 calls asked for: 0.1 s of CPU, p99 of others 18 ms; 6,078,000 "
        "WINDOW_UPDATEs in 8 s: p99 of others 14 ms",
    ),
    Attack(
        "header blocks that take long to decode",
        f"{LIST_SIZE_MAX:,} bytes in {CONTINUATIONS_MAX + 1} frames at most; "
        f"{HEADERS_A_SLICE:,} bytes of fields, or its time, end a slice",
        f"{_TESTS}/http2/test_attacks.py",
        "40,512 blocks of 8,000 Huffman bytes in 5 s: 4.4 s of CPU, p99 of others 15 ms",
    ),
    Attack(
        "floods of frames: PING, SETTINGS, PRIORITY, empty DATA, resets",
        f"all gRPC connections together have {TURN_S * _MS:g} ms of a turn of the event loop, in "
        f"slices of {SLICE_S * _MS:g} ms each",
        f"{_TESTS}/http2/test_attacks.py",
        "2,080,000 PINGs in 5 s, 774,000 DATA frames of 1 byte in 5 s: the longest turn took 5 ms",
    ),
    Attack(
        "rapid reset, made you reset",
        f"a call counts among the {STREAMS_MAX:,} of its connection until its work has ended",
        f"{_TESTS}/http2/test_attacks.py",
        "67,400 resets in 20 s: +9 MB, 2.1 s of CPU, p99 of others 41 ms",
    ),
    Attack(
        "answers and commands that are not read",
        "charged while they wait, received messages and answers of the socket alike; "
        f"{COMMANDS_MAX} commands wait for a client, whose own are not read meanwhile",
        f"{_TESTS}/test_sessions.py",
        "47,000 routes of 47 addresses, not read: +19 MB",
    ),
    Attack(
        "thousands of calls that each ask a broker, with the most content of their method",
        f"{CALLS_A_TURN} calls start in a turn of the event loop, of each address in turn; "
        f"requests of more than {FEW_ITEMS_MAX} fields are decoded {LONG_AT_ONCE} at a time, and "
        f"{PIECES_A_TURN} pieces of such work begin in a turn",
        f"{_TESTS}/test_turns.py, {_TESTS}/http2/test_attacks.py, "
        "tests/server/test_worst_content.py",
        "six connections with 60 calls each, again and again, at a load of 15 to 20: the longest "
        "turn had 4 to 11 ms of CPU, by method",
    ),
    Attack(
        "requests without end on a few connections, not one after the other",
        "handled in the time that all connections share; the others wait, unread",
        "tests/remoting/aio/test_server_turns.py",
        "four connections with requests for the runtime information (28), on two cores with a load "
        "of 16: p50 of others 65 ms (before: 3.4 s); with pops 52 ms (before: 0.9 s)",
    ),
    Attack(
        "messages that are popped and never acknowledged, then a reset, or the end of the topic",
        "open pops follow `inFlightSizeMax`, and a group leaves room for others; what ends them "
        "costs as much as there is to end, 32 at a time",
        "tests/server/broker/pop/test_open_pops.py",
        "50,000 pops one by one: +56 MB; after a kill pulls were answered in 8 s and pops in 24 s; "
        "the end of a topic with 20,000: p50 of others 71 ms (before, with 50,000: 524 ms); all "
        "on two cores with a load of 16 to 20",
    ),
    Attack(
        "calls to `mqproxy` while its broker is silent or gone",
        "one call asks a silent broker, the others use what was known; bytes and descriptors as "
        "ever",
        "tests/server/proxy/test_cluster.py",
        "24,400 sends to a silent broker: +28 MB, 25 descriptors; 2,500 half handshakes: p99 of "
        "others 160 ms; 5 s after broker and name server were back calls took 1 ms",
    ),
    Attack(
        "TLS handshakes that are begun and left, or made of random bytes",
        f"{HANDSHAKES_A_TURN} begin in a turn of the event loop, of each address in turn; "
        f"{HANDSHAKES_WAITING:,} of an address wait",
        "tests/remoting/aio/test_starts.py",
        "2,200 half-open handshakes a second by two processes on the same two cores: p50 of others "
        "16 ms, p99 52 ms (before: 63 and 209 ms at 950 a second)",
    ),
)


def costs() -> list[str]:
    """Return the lines of the section."""
    prices = [f"| {price.what} | {price.size:,} |" for price in PRICES]
    attacks = [f"| {' | '.join(each)} |" for each in ATTACKS]
    return [
        "",
        "## What a peer can make a server hold or do",
        "",
        "Everything that a peer can cause has a price, which is charged before it is done: bytes",
        "against `inFlightSizeMax`, descriptors against those of all connections, time against the",
        "turn of the event loop. Objects cost what they take in memory, beside their content. The",
        "figures are of 2026-11-28, with attackers and others on the same two cores.",
        "",
        "| object | bytes |",
        "| --- | --- |",
        *prices,
        "",
        "| attack | promised | test | measured |",
        "| --- | --- | --- | --- |",
        *attacks,
    ]
