"""The rows of two tables of ``docs/security.md``: who may say what, and files of strangers."""

from typing import Final, NamedTuple


class Attack(NamedTuple):
    """One attack, what is promised, and the test that shows it."""

    attack: str
    promise: str
    test: str


_FENCE: Final = "tests/server/broker/ha/test_trust.py"
_SCOPE: Final = "tests/server/broker/acl/test_scope.py"
_ROUTES: Final = "tests/server/namesrv/test_routes.py"
_CODES: Final = "tests/server/broker/acl/test_every_code.py"
_FILES: Final = "tests/mqadmin/test_hostile_files.py"
_ARCHIVE: Final = "tests/mqspark/archive/test_archive_hostile.py"

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
        "that fixes them",
        "tests/mqadmin/session/test_contexts.py",
    ),
    Attack(
        "send every request code without a key, with an account without rights, or with one that "
        "has rights to another topic or group, and leave out one field after another",
        "only the question for the epoch is answered without a key; an account gets what its own "
        "names allow, and nothing of what a request names beside them",
        _CODES,
    ),
    Attack(
        "send numbers from their whole range and odd texts in every field of every request code",
        "each is answered, nothing is logged as a fault, and the connections of others go on",
        "tests/server/broker/test_header_ranges.py",
    ),
    Attack(
        "change an account file while it is read, or put a pipe or a device in its place",
        "a file counts when two looks found it alike, and only if it is a regular one",
        "tests/server/broker/acl/test_live_accounts.py",
    ),
    Attack(
        "recall timer messages of other topics (5.4.0 allows it)",
        "a recall reaches only messages of the topic that it was sent to",
        "tests/interop/test_timers.py",
    ),
    Attack(
        "cut master, slave and name server from each other",
        "nothing is promoted by itself; a master that was replaced accepts nothing, and follows "
        "with a log that diverged only after `broker demote --cut-tail`",
        "tests/server/test_split_brain.py",
    ),
)

FILES: Final = (
    Attack(
        "a document with deep nesting, doubled names or endless numbers, or a device in its place",
        "`apply`, `diff`, imports and their notes are refused in a few words, before anything "
        "changes",
        _FILES,
    ),
    Attack(
        "a YAML bomb, a tag that calls Python, an alias of itself, a name that appears twice",
        "refused before it is built",
        "tests/mqadmin/test_hostile_yaml.py",
    ),
    Attack(
        "a link in the place of a note beside an export or an import",
        "the link is replaced, and what it points to stays as it is",
        _FILES,
    ),
    Attack(
        "a state file that claims more than its export contains",
        "refused; no bytes are made up",
        _FILES,
    ),
    Attack(
        "a manifest or a checkpoint of an archive that leads out of it, or is damaged",
        "refused by name; no file outside of the archive is read, replaced or removed",
        _ARCHIVE,
    ),
    Attack(
        "an expression that takes forever with the name of a topic or with a body",
        "`subscribePattern` and the pipeline match in linear time (RE2); `--grep` ends with Ctrl-C",
        "tests/mqspark/sources/live/test_queues.py",
    ),
)


def table(attacks: tuple[Attack, ...]) -> str:
    """Return the rows as a table."""
    rows = "".join(
        f"| {one.attack} | {one.promise} | [`{one.test.rpartition('/')[2]}`](../{one.test}) |\n"
        for one in attacks
    )
    return "| attack | what is promised | test |\n| --- | --- | --- |\n" + rows
