"""Topics, groups and accounts as a document: what a cluster has, and what it is to have.

    topics:
      orders:
        '*': {read_queues: 8, write_queues: 8, perm: RW-, order: false, sys_flag: 0}
    groups:
      billing:
        broker-a: {consume_enable: true, retry_max_times: 16, ...}
        broker-b: {consume_enable: false, ...}
    accounts:
      billing-app:
        '*': {admin: false, topic_perms: [orders=SUB], ...}     never with its secret

``'*'`` is every master: so a document fits another cluster, with other brokers.

Rule: pure; a setting that is not named is left as it is, and an unknown one is an error.
"""

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

from mqadmin.changes.group_change import SETTINGS
from mqadmin.errors import Usage, did_you_mean
from mqadmin.output.rows import Row
from mqadmin.output.topic_kinds import parse_perm
from remoting.bodies import PlainAccessConfig
from storefmt.config.tables import SubscriptionGroup, TopicConfig
from storefmt.names import perm_text

T = TypeVar("T")
Setting = bool | int | str | list[str]
Settings = Mapping[str, Setting]
EVERY: Final = "*"

TOPIC_FIELDS: Final = {
    "read_queues": "read_queue_nums",
    "write_queues": "write_queue_nums",
    "perm": "perm",
    "order": "order",
    "sys_flag": "topic_sys_flag",
}
"""Our name of a setting, and the field of ``TopicConfig``."""

GROUP_FIELDS: Final = {name: name for name in SETTINGS}


ACCOUNT_FIELDS: Final = {
    name: name
    for name in (
        *("admin", "white_remote_address", "default_topic_perm", "default_group_perm"),
        *("topic_perms", "group_perms"),
    )
}
SECRET: Final = "secret_key"
"""A document may give it; none that is written here has it."""


@dataclass(frozen=True, slots=True)
class Section(Generic[T]):
    """One section of a document.

    Attributes:
        fields: our name of a setting, and the field of the class.
        fresh: makes one with every setting as a broker would have it.
        defaults: what a setting means that is not said.
    """

    name: str
    fields: Mapping[str, str]
    fresh: Callable[[str], T]
    defaults: Mapping[str, Setting] = field(default_factory=dict)

    def describe(self, value: T) -> dict[str, Setting]:
        """Return the settings of one entry; one that is not said is the default."""
        shown: dict[str, Setting] = {}
        for name, spot in self.fields.items():
            said = getattr(value, spot)
            setting = self.defaults[name] if said is None else said
            if name == "perm":
                setting = perm_text(int(said))
            shown[name] = sorted(setting) if isinstance(setting, list) else setting
        return shown

    def apply_to(self, old: T | None, name: str, settings: Settings) -> T:
        """Return the entry with the named settings changed; a new one if there is none."""
        base = self.fresh(name) if old is None else old
        changed = {
            # A default is left out: a broker does not take an empty list for permissions.
            self.fields.get(key, key): None
            if key in self.defaults and value == self.defaults[key]
            else (parse_perm(str(value)) if key == "perm" else value)
            for key, value in settings.items()
        }
        return replace(base, **changed)  # type: ignore[type-var]

    def check(self, where: str, settings: object) -> dict[str, Setting]:
        """Return settings that were read from a file.

        Raises:
            Usage: one is unknown or of the wrong type.
        """
        if not isinstance(settings, Mapping):
            raise Usage(f"{where}: expected settings, found {settings!r}")
        example = self.describe(self.fresh("x"))
        if self.name == ACCOUNTS.name:
            example[SECRET] = ""
        checked: dict[str, Setting] = {}
        for key, value in settings.items():
            if key not in example:
                hint = did_you_mean(str(key), example, "one of " + ", ".join(example))
                raise Usage(f"{where}: unknown setting {key!r}", hint=hint)
            if type(value) is not type(example[key]):
                type_name = type(example[key]).__name__
                raise Usage(f"{where}: {key} is {value!r}, expected {type_name}")
            if isinstance(value, list):
                checked[key] = sorted(str(item) for item in value)
            else:
                checked[key] = perm_text(_perm(where, value)) if key == "perm" else value
        return checked


def _perm(where: str, value: object) -> int:
    try:
        return parse_perm(str(value))
    except ValueError as error:
        raise Usage(f"{where}: {error}") from None


TOPICS: Final = Section("topics", TOPIC_FIELDS, lambda name: TopicConfig(name, 8, 8))
GROUPS: Final = Section("groups", GROUP_FIELDS, SubscriptionGroup)
ACCOUNTS: Final = Section(
    "accounts",
    ACCOUNT_FIELDS,
    lambda name: PlainAccessConfig(access_key=name),
    {
        "white_remote_address": "",
        "default_topic_perm": "DENY",
        "default_group_perm": "DENY",
        "topic_perms": list[str](),
        "group_perms": list[str](),
    },
)
SECTIONS: Final[
    tuple[Section[TopicConfig] | Section[SubscriptionGroup] | Section[PlainAccessConfig], ...]
] = (TOPICS, GROUPS, ACCOUNTS)

Manifest = dict[str, dict[str, dict[str, Settings]]]
"""What a cluster or a file has: settings by section, name and broker, which may be ``EVERY``."""


def collapse(manifest: Manifest, brokers: Iterable[str]) -> Manifest:
    """Return the manifest with ``EVERY`` where all brokers have the same."""
    every = set(brokers)
    made: Manifest = {}
    for section, entries in manifest.items():
        out = made.setdefault(section, {})
        for name, by_broker in sorted(entries.items()):
            values = list(by_broker.values())
            alike = set(by_broker) == every and all(value == values[0] for value in values)
            out[name] = {EVERY: values[0]} if alike else dict(sorted(by_broker.items()))
    return made


def expand(manifest: Manifest, brokers: Iterable[str]) -> Manifest:
    """Return the manifest with one entry for each broker instead of ``EVERY``.

    A broker that is named as well has its own settings over those of ``EVERY``.
    """
    every = sorted(set(brokers))
    made: Manifest = {}
    for section, entries in manifest.items():
        out = made.setdefault(section, {})
        for name, by_broker in entries.items():
            base = by_broker.get(EVERY)
            out[name] = {} if base is None else dict.fromkeys(every, base)
            for broker, settings in by_broker.items():
                if broker != EVERY:
                    out[name][broker] = {**(base or {}), **settings}
    return made


def with_brokers(manifest: Manifest, names: Mapping[str, str]) -> Manifest:
    """Return the manifest with other names of brokers: each new name by the old one.

    Raises:
        Usage: two brokers of the document would become one.
    """
    made: Manifest = {}
    for section, entries in manifest.items():
        out = made.setdefault(section, {})
        for name, by_broker in entries.items():
            out[name] = {
                names.get(broker, broker): settings for broker, settings in by_broker.items()
            }
            if len(out[name]) < len(by_broker):
                raise Usage(
                    f"{section}: {name}: two brokers map to the same broker",
                    hint="map each broker to a different broker",
                )
    return made


def read_document(document: object, *, source: str) -> Manifest:
    """Return the manifest that a parsed YAML document says.

    Raises:
        Usage: it is not such a document.
    """
    if not isinstance(document, Mapping):
        raise Usage(f"{source}: expected sections, found {type(document).__name__}")
    sections = {section.name: section for section in SECTIONS}
    manifest: Manifest = {}
    for title, entries in document.items():
        section = sections.get(title)
        if section is None:
            raise Usage(
                f"{source}: unknown section {title!r}", hint="one of " + ", ".join(sections)
            )
        if not isinstance(entries or {}, Mapping):
            raise Usage(f"{source}: {title}: expected names, found {reprlib.repr(entries)}")
        out = manifest.setdefault(title, {})
        for name, by_broker in (entries or {}).items():
            where = f"{source}: {title}: {name}"
            if not isinstance(name, str):
                # In YAML the words on, no and null are not text either.
                raise Usage(f"{where}: the name is not a string", hint="put the name in quotes")
            if not isinstance(by_broker, Mapping):
                raise Usage(
                    f"{where}: expected brokers, found {reprlib.repr(by_broker)}",
                    hint="such as '*': {...}",
                )
            out[name] = {
                str(broker): section.check(f"{where}: {broker}", settings)
                for broker, settings in by_broker.items()
            }
    return manifest


@dataclass(frozen=True, slots=True)
class Difference(Row):
    """One difference; ``setting`` is None where a side lacks the whole thing."""

    kind: str
    name: str
    broker: str
    setting: str | None
    left: Setting | None
    right: Setting | None


def differences(left: Manifest, right: Manifest) -> Iterator[Difference]:
    """Yield what differs: whole entries first by name, then setting by setting.

    A setting that only one side names is not a difference: the other side leaves it open.
    """
    for section in sorted({*left, *right}):
        left_entries, right_entries = left.get(section, {}), right.get(section, {})
        for name in sorted({*left_entries, *right_entries}):
            here, there = _aligned(left_entries.get(name, {}), right_entries.get(name, {}))
            for broker in sorted({*here, *there}):
                a, b = here.get(broker), there.get(broker)
                if a is None or b is None:
                    present = "there"
                    yield Difference(
                        section, name, broker, None, present if a else None, present if b else None
                    )
                    continue
                for setting in a:
                    if setting in b and a[setting] != b[setting]:
                        yield Difference(section, name, broker, setting, a[setting], b[setting])


def _aligned(
    left: Mapping[str, Settings], right: Mapping[str, Settings]
) -> tuple[Mapping[str, Settings], Mapping[str, Settings]]:
    """Return both with ``EVERY`` of one side spelled out as the brokers of the other."""
    if EVERY in left and right and EVERY not in right:
        return dict.fromkeys(right, left[EVERY]), right
    if EVERY in right and left and EVERY not in left:
        return left, dict.fromkeys(left, right[EVERY])
    return left, right
