"""The commands by name with their summaries: all that is known before a module is imported.

    topic list          -> mqadmin/commands/topic/list.py
    message query id    -> mqadmin/commands/message/query_id.py
    broker config set   -> mqadmin/commands/broker/config.py, beside ``broker config get``
    acl list            -> mqadmin/commands/acl.py, because there is no folder ``acl``
    shell               -> mqadmin/commands/shell.py

Rule: names match without regard to case, ``_`` and ``-``; the longest name wins. Lists of
commands, completion of words and the search for a name read this table and import no command.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from keyword import iskeyword
from typing import Final

AREAS: Final[dict[str, dict[str, str]]] = {
    "Topics, groups and messages": {
        "topic clusters": "show in which clusters a topic is",
        "topic consumers": "show which groups read a topic",
        "topic create": "create a topic",
        "topic delete": "delete a topic and its messages",
        "topic import": "create or change the topics of a file",
        "topic list": "list the topics",
        "topic order-conf": "show or set the order configuration of a topic",
        "topic perm": "set who may read and write a topic",
        "topic route": "show which brokers have a topic",
        "topic show": "show the queues of a topic: offsets and permission",
        "topic static grow": "create a static topic, or let one grow",
        "topic static plan": "show how logical queues would be mapped",
        "topic static remap": "move the logical queues of a topic to other brokers",
        "topic static show": "show on which brokers logical queues are",
        "topic status": "show the offsets of every queue of a topic",
        "topic update": "change settings of a topic",
        "group config": "show the settings of a consumer group",
        "group consume-mode get": "show which groups pull and which pop",
        "group consume-mode set": "make a group pull a topic, or pop from it",
        "group copy": "copy a group with its offsets from another cluster",
        "group create": "create a consumer group",
        "group delete": "delete a consumer group",
        "group import": "create or change the consumer groups of a file",
        "group lag": "show how far a group is behind",
        "group list": "list the consumer groups",
        "group running": "show queues, caches and locks inside each member",
        "group show": "show members, subscriptions and settings of a group",
        "group tps": "show how fast topics are written and read, and lag",
        "group update": "change settings of a consumer group",
        "offset clone": "give a group the offsets of another one",
        "offset export": "write the offsets of groups to a file",
        "offset import": "store the offsets of a file",
        "offset reset": "move a group to another position in a topic",
        "offset show": "show the committed offsets of a group",
        "offset skip": "skip messages for a group",
        "message bench": "measure how fast messages are stored",
        "message consume-direct": "hand a stored message to a live consumer",
        "message decode-id": "show what a message id contains",
        "message export": "write the messages of a topic to a file",
        "message get": "find messages by id, key, or queue and offset",
        "message import": "send the messages of a file",
        "message print": "print the messages of a topic",
        "message query id": "find a message by its id",
        "message query key": "find the messages with a key",
        "message query offset": "show the message at an offset of a queue",
        "message query time": "find the messages that were stored in a time span",
        "message query unique-key": "find a message by the id that its producer got",
        "message recall": "recall a timer message before its time",
        "message resend": "send a stored message again",
        "message send": "send a message",
        "message tail": "follow a topic: print messages as they arrive",
        "message trace": "show the whole life of a message as a timeline",
        "queue show": "show entries of a consume queue",
        "dead-letter list": "list the groups that have given up messages",
        "dead-letter resend": "send a group its dead letters again",
        "dead-letter show": "show the messages that a group has given up",
        "delay list": "list waiting delayed messages by level",
        "transaction list": "show undecided half messages",
        "lock list": "show which client holds which queue, and which wait",
        "rebalance plan": "show who would read which queue if members changed",
        "rebalance show": "show which member reads which queue",
        "rebalance watch": "show assignments that change, and queues that flap",
    },
    "Clusters and brokers": {
        "cluster list": "list clusters and brokers with versions and rates",
        "cluster rt": "measure round trips of messages to every broker",
        "cluster status": "show today's counts and the state of every broker",
        "broker clean expired-log": "delete expired commit log files",
        "broker clean expired-queues": "delete consume queues whose messages are all gone",
        "broker clean unused-topics": "delete the queues of topics that have no settings",
        "broker config get": "show the settings of a broker",
        "broker config set": "change a setting of running brokers",
        "broker connections": "show who is connected to a broker",
        "broker consume-stats": "show how far every group on a broker has read",
        "broker container add": "start a broker in a BrokerContainer of RocketMQ 5",
        "broker container remove": "stop a broker in a BrokerContainer of RocketMQ 5",
        "broker demote": "make a replaced master a slave of the new one",
        "broker list": "list the brokers and their addresses",
        "broker pop-records transfer": "move records of POP from RocksDB to files",
        "broker promote": "make a slave the master after its master is gone",
        "broker read-ahead": "switch read-ahead of the commit log",
        "broker rocksdb check": "compare consume queues in RocksDB and in files",
        "broker rocksdb dump": "write configuration in RocksDB as JSON files",
        "broker stats": "show statistics of brokers: minute, hour and day",
        "broker status": "show counters and gauges of a broker",
        "broker timer-engine": "choose what keeps delayed messages",
        "broker write-perm add": "let producers write to a broker again",
        "broker write-perm wipe": "stop producers from writing to a broker",
        "cold-data list": "show which groups read old messages from disk",
        "cold-data remove": "remove the limit of a group that reads from disk",
        "cold-data set": "limit what a group may read from disk",
        "namesrv config get": "show the settings of the name servers",
        "namesrv config set": "change a setting of the name servers",
        "namesrv kv delete": "delete a key of the name servers' table",
        "namesrv kv get": "show values of the name servers' table",
        "namesrv kv set": "set a value in the name servers' table",
        "ha epochs": "show under which masters each log was written",
        "ha reset-flush-offset": "tell a slave how far its master has flushed",
        "ha status": "show masters, and how far behind their slaves are",
        "controller clean": "remove brokers or a group from controllers",
        "controller config get": "show the settings of controllers",
        "controller config set": "change a setting of running controllers",
        "controller elect": "make a broker the master of its group",
        "controller leader": "show which controller is the leader",
        "controller status": "show masters and in-sync sets of groups",
        "acl delete": "delete an account of brokers with access control",
        "acl list": "list the accounts of brokers with access control",
        "acl set": "create an account, or change the named fields",
        "acl show": "show one account of brokers with access control",
        "acl version": "show when the accounts of each broker changed",
        "acl white-addr": "show or replace addresses without account",
        "acl2 copy": "copy rules of ACL 2.0 from elsewhere",
        "acl2 delete": "delete rules of ACL 2.0",
        "acl2 list": "list the rules of brokers with ACL 2.0",
        "acl2 set": "create a rule of ACL 2.0, or change it",
        "acl2 show": "show the rules of one user",
        "acl2 test": "show if a user may do something, and why",
        "user copy": "copy users of ACL 2.0 from elsewhere",
        "user create": "create a user of brokers with ACL 2.0",
        "user delete": "delete a user of ACL 2.0 and its rules",
        "user list": "list the users of brokers with ACL 2.0",
        "user show": "show one user of brokers with ACL 2.0",
        "user update": "change password, type or status of a user",
    },
    "Health": {
        "doctor": "look for problems in a cluster",
        "top": "show brokers, groups and topics live, the worst first",
        "wait broker": "wait until a broker is registered and answers",
        "wait group": "wait until a group exists and has enough members",
        "wait lag": "wait until a group has read everything",
        "wait topic": "wait until a topic exists, or is gone",
        "assert group": "exit 1 if a group does not exist or is too small",
        "assert lag": "exit 1 if a group is too far behind",
        "assert message-count": "exit 1 if a topic has too few or too many messages",
        "assert topic": "exit 1 if a topic does not exist or differs",
        "exporter": "serve the metrics of a cluster to Prometheus",
        "report": "write a cluster report as an HTML page",
    },
    "Whole clusters as documents": {
        "export": "write topics, groups and accounts as a YAML document",
        "export configs": "write settings of masters as the file of the Java tool",
        "export metadata": "write topics and groups as the file of the Java tool",
        "export metrics": "write counters of masters as the file of the Java tool",
        "diff": "compare topics, groups and accounts of clusters or files",
        "apply": "change topics, groups and accounts to match a document",
        "undo": "restore what a destructive write changed",
    },
    "Store directories": {
        "store carve": "find records in damaged, cut, overwritten or orphan files",
        "store checkpoint": "show how far a store directory was flushed",
        "store compaction": "show the messages in a log of a compaction topic",
        "store config": "list the values in the config/ files of a store directory",
        "store cq-diff": "compare consume queues that are in files and in RocksDB",
        "store diff": "compare two stores: the first divergence, then each queue",
        "store epoch": "show or repair which promotion a store directory follows",
        "store events": "show what happened to a store directory, and when",
        "store export": "write the messages of a store directory to a file",
        "store get": "show one message of a store directory",
        "store hexdump": "show and name the bytes of a record or an entry",
        "store index": "list the entries of the index files",
        "store info": "show what a store directory holds",
        "store log": "list the messages of a store directory",
        "store ls": "list the files of a store directory",
        "store masters": "show under which masters a log was written",
        "store offsets": "list the offsets of consumer groups in a store directory",
        "store pop": "show what POP delivered and what was acknowledged",
        "store query": "find the messages with a key in a store directory",
        "store queue": "list the entries of consume queues",
        "store rebuild": "rebuild consume queues and index from the commit log",
        "store repair": "copy a damaged store so that a broker can open it",
        "store report": "write a report on a store directory as an HTML page",
        "store rocksdb": "list topics, groups or offsets that are in RocksDB",
        "store seal": "write checksums of whole records beside a store",
        "store stats": "count the messages of a store directory",
        "store tail": "follow a store directory: print messages as they are stored",
        "store timeline": "show when the messages of a store directory were stored",
        "store trace": "show the whole life of a message in a store directory",
        "store verify": "look for damage in a store directory",
    },
    "Jobs on Spark": {
        "pipeline archive": "archive live topics into Parquet, each message once",
        "pipeline archive clean": "delete files that no longer belong to an archive",
        "pipeline archive compact": "merge small files of an archive into large ones",
        "pipeline archive expire": "remove old messages from an archive",
        "pipeline diff": "compare two stores, on Spark",
        "pipeline duplicates": "find messages sent more than once, on Spark",
        "pipeline events": "show what happened to a store, and when, on Spark",
        "pipeline extract": "write the messages of stores to files, on Spark",
        "pipeline grep": "find messages by a match in their body, on Spark",
        "pipeline lag": "show how far each group was behind, on Spark",
        "pipeline rebuild": "rebuild consume queues and index, on Spark",
        "pipeline restore": "restore an archive into a store or a topic",
        "pipeline rewind plan": "show what a reset to a time would replay, on Spark",
        "pipeline stats": "count messages and bytes by topic and hour, on Spark",
        "pipeline timeline": "show when messages were stored, on Spark",
        "pipeline trace": "show the life of messages in many stores, on Spark",
        "pipeline verify": "look for damage in stores, on Spark",
        "pipeline views": "print SQL views of the tables of a store, for Spark",
    },
    "The tool itself": {
        "shell": "run commands with completion, or a script",
        "demo": "take a guided tour: live views, then a broken store",
        "embedded": "run a name server and a broker, until interrupted",
        "context add": "name a cluster, or change what a name means",
        "context list": "list the named contexts",
        "context remove": "forget a named context",
        "context show": "show one context",
        "context use": "make a context the current one",
        "completion": "print the completion script for a shell",
        "completion names": "list live names for completion",
    },
}
"""The summary of each command, in the order of ``--help``."""

DESTRUCTIVE_WORDS: Final = frozenset(
    {
        *("apply", "clean", "delete", "demote", "elect", "expire", "import", "promote", "remove"),
        "reset",
        *("skip", "undo", "wipe"),
    }
)
"""Words in the names of destructive commands; a typo never leads to one of these."""

ALIASES: Final = {"store query key": "store query"}
"""Further names of commands that scripts use; they are not listed."""
COMMANDS: Final = {name: text for area in AREAS.values() for name, text in area.items()}
HELP_WORD: Final = "help"
VERSION_WORD: Final = "version"
TEXT_WORDS: Final = {
    HELP_WORD: "explain a group or a command",
    VERSION_WORD: "print the version",
}
"""Words that are not commands, but print a text."""


def fold(word: str) -> str:
    """Return a name as it is compared: lower case, without ``_`` and ``-``."""
    return word.lower().replace("-", "").replace("_", "")


def command_named(words: Sequence[str]) -> str | None:
    """Return the command whose whole name the words are, None if there is no such command."""
    return _by_folded_words().get(_key(words)) if words else None


def is_destructive(name: str) -> bool:
    """Return whether a command is destructive."""
    return not DESTRUCTIVE_WORDS.isdisjoint(name.split())


def find_command(words: Sequence[str]) -> tuple[str | None, int]:
    """Return the command that the first of ``words`` name, and how many words that takes."""
    for count in range(len(words), 0, -1):
        name = command_named(words[:count])
        if name is not None:
            return name, count
    return None, 0


def commands_below(words: Sequence[str]) -> list[str]:
    """Return the commands whose names begin with ``words``."""
    typed = [fold(word) for word in words]
    return [
        name
        for name, parts in _folded_words()
        if len(parts) > len(typed) and parts[: len(typed)] == typed
    ]


def next_words(words: Sequence[str]) -> dict[str, str]:
    """Return the words that may follow in a name, and what they mean."""
    summaries: dict[str, str] = {}
    for name in commands_below(words):
        parts = name.split()
        whole = len(parts) == len(words) + 1
        meaning = (
            COMMANDS[ALIASES.get(name, name)]
            if whole
            else f"{' '.join(parts[: len(words) + 1])} ..."
        )
        if whole or parts[len(words)] not in summaries:
            summaries[parts[len(words)]] = meaning
    return dict(sorted(summaries.items()))


def module_of(name: str) -> str:
    """Return the module of a command.

    It is ``<noun>/<verb>.py``, where the verb is the rest of the name or its first word, and
    ``<noun>.py`` for a noun without a folder. A keyword of Python gets a ``_``.
    """
    noun, *verbs = (
        f"{word}_" if iskeyword(word) else word for word in name.replace("-", "_").split()
    )
    module = f"mqadmin.commands.{noun}"
    spec = find_spec(module)
    if spec is None or spec.submodule_search_locations is None:
        return module
    whole = f"{module}.{'_'.join(verbs)}"
    return whole if find_spec(whole) else f"{module}.{verbs[0]}"


@cache
def _by_folded_words() -> dict[tuple[str, str], str]:
    names = {_key(name.split()): name for name in COMMANDS}
    return names | {_key(alias.split()): name for alias, name in ALIASES.items()}


@cache
def _folded_words() -> list[tuple[str, list[str]]]:
    names = (*COMMANDS, *ALIASES)
    return [(name, [fold(word) for word in name.split()]) for name in names]


def _key(words: Iterable[str]) -> tuple[str, str]:
    """Return noun and verb as they are compared: ``query-key`` is ``query key``."""
    noun, *verb = (fold(word) for word in words)
    return noun, "".join(verb)
