"""The rows of the table of attacks in ``docs/security.md``: who may say what to a server."""

from typing import Final, NamedTuple


class Attack(NamedTuple):
    """One attack, what is promised, and the test that shows it."""

    attack: str
    promise: str
    test: str


_FENCE: Final = "tests/server/broker/ha/test_trust.py"
_SCOPE: Final = "tests/server/broker/acl/test_scope.py"
_ROUTES: Final = "tests/server/namesrv/test_routes.py"

ATTACKS: Final = (
    Attack(
        "register an address under the name of a master, and answer its questions",
        "the master is not fenced, signs nothing for that address, and without accounts does not "
        "even ask it",
        _FENCE,
    ),
    Attack(
        "answer with an epoch of 5,000 digits, a negative one, or other nonsense",
        "the peer is logged and ignored; the broker starts",
        _FENCE,
    ),
    Attack(
        "register an epoch at the name server",
        "without a proof by an account of the broker it is not believed; without accounts only "
        "addresses that the name server admits can do it, within a day of the clock",
        _FENCE,
    ),
    Attack(
        "send eight bytes with an epoch to the HA port",
        "believed only from `slaveAddresses`, and never an epoch more than a day beyond the clock",
        _FENCE,
    ),
    Attack(
        "break `epoch.json`, or fill it with the highest number",
        "the start names the file and `mqadmin store epoch DIR --mend`; a promotion never writes "
        "an epoch that no broker accepts",
        "tests/storefmt/config/test_epochs.py",
    ),
    Attack(
        "send a captured signature of our programs with another request code, to another server, "
        "or after a quarter of an hour",
        "refused by servers of ours, in any fields in which the values are sent",
        _SCOPE,
    ),
    Attack(
        "send a signature of a Java client with one of our own request codes",
        "refused: these codes need a signature that names them",
        _SCOPE,
    ),
    Attack(
        "pose as the master of a slave, to get its signatures",
        "a slave signs only for configured masters and for those that prove they have its account; "
        "for the latter with a signature that no Java server accepts",
        _FENCE,
    ),
    Attack(
        "register as a broker from another machine",
        "refused unless `brokerAddresses` has the address; answer and log name the setting",
        "tests/server/namesrv/test_request_gate.py",
    ),
    Attack(
        "replace, unregister or keep alive a broker that another address registered",
        "refused unless `brokerAddresses` has the address",
        _ROUTES,
    ),
    Attack(
        "register thousands of brokers, topics, clusters or filter servers",
        "256 brokers, 500,000 topics and 128 MiB for each address, 16 clusters for each broker",
        _ROUTES,
    ),
    Attack(
        "make a list of topics longer than a frame",
        "the answer is an error with a hint, and nothing is logged as a fault",
        "tests/server/namesrv/handlers/test_topic.py",
    ),
    Attack(
        "read the keys of an administrator from a file of another user",
        "`mqadmin` refuses contexts and key files that others can read, and names the command "
        "that mends them",
        "tests/mqadmin/session/test_contexts.py",
    ),
)


def table() -> str:
    """Return the rows as a table."""
    rows = "".join(
        f"| {one.attack} | {one.promise} | [`{one.test.rpartition('/')[2]}`](../{one.test}) |\n"
        for one in ATTACKS
    )
    return "| attack | what is promised | test |\n| --- | --- | --- |\n" + rows
