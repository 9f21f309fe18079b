"""The topics of one broker: how they are created and changed.

    a send to a topic that does not exist, and a template (TBW102) with the inherit bit
      -> min(queues that the producer asks for, write queues of the template), its permission
         without the inherit bit

Rule: entries are immutable. A change replaces the entry, increases the data version and calls
``on_change``, which clears caches of entries. System topics are ordinary entries, but no request
may create or delete them. A slave creates no topic: it has those of its master.

A new topic is ``unsaved`` until topics.json on the disk has it, and the answer to a message for
such a topic waits for that (``saves.SavedFirst``). So after a kill or a power cut every
acknowledged message has its topic, with the same number of queues, permission and flags. If the
next start guessed these from the existing queues, producers that know the topic would see other
numbers, and a topic with delayed messages only would not be found.

Source: broker/topic/TopicConfigManager.java.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Final

from mqserver.broker import names
from mqserver.broker.config import BrokerConfig
from mqserver.broker.names import is_inherited
from mqserver.runtime.request import RequestRefused
from remoting.codes import ResponseCode
from storefmt.config.tables import SINGLE_TAG, DataVersion, TopicConfig, TopicTable
from storefmt.names import (
    AUTO_CREATE_TOPIC,
    BENCHMARK_TOPIC,
    OFFSET_MOVED_TOPIC,
    PERM_INHERIT,
    PERM_READ_WRITE,
    REPLY_SUFFIX,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    SYSTEM_PREFIX,
    is_light,
)

SCHEDULE_QUEUE_COUNT: Final = 18
BENCHMARK_QUEUE_COUNT: Final = 1024
CLUSTER_QUEUE_COUNT: Final = 16
LOST_QUEUE_COUNT: Final = 4
"""Fewest queues of a topic that is created again after its settings were lost; the default of
clients."""


def topic_config(name: str, *, queue_count: int, perm: int = PERM_READ_WRITE) -> TopicConfig:
    """Return the settings of a topic with ``queue_count`` read queues and write queues."""
    return TopicConfig(
        topic_name=name,
        read_queue_nums=queue_count,
        write_queue_nums=queue_count,
        perm=perm,
        topic_filter_type=SINGLE_TAG,
        topic_sys_flag=0,
        order=False,
    )


def built_in_topics(config: BrokerConfig) -> list[TopicConfig]:
    """Return the topics that a broker has from the start, in the order in which Java creates them.

    Java always creates 18 queues for delayed messages, whatever messageDelayLevel says.
    """
    open_perm = PERM_INHERIT | PERM_READ_WRITE
    topics = [topic_config(SELF_TEST_TOPIC, queue_count=1)]
    if config.auto_create_topic_enable:
        count = config.default_topic_queue_nums
        topics.append(topic_config(AUTO_CREATE_TOPIC, queue_count=count, perm=open_perm))
    topics += [
        topic_config(BENCHMARK_TOPIC, queue_count=BENCHMARK_QUEUE_COUNT),
        topic_config(
            config.broker_cluster_name,
            queue_count=CLUSTER_QUEUE_COUNT,
            perm=open_perm if config.cluster_topic_enable else PERM_INHERIT,
        ),
        topic_config(
            config.broker_name,
            queue_count=1,
            perm=open_perm if config.broker_topic_enable else PERM_INHERIT,
        ),
        topic_config(OFFSET_MOVED_TOPIC, queue_count=1),
        topic_config(
            SCHEDULE_TOPIC, queue_count=max(SCHEDULE_QUEUE_COUNT, len(config.store.delays_ms()))
        ),
    ]
    if config.trace_topic_enable:
        topics.append(topic_config(config.msg_trace_topic_name, queue_count=1))
    topics.append(topic_config(config.broker_cluster_name + REPLY_SUFFIX, queue_count=1))
    return topics


def require_master(config: BrokerConfig) -> None:
    """Refuse a change of topics, groups or modes on a slave, which has those of its master.

    Raises:
        RequestRefused: this broker is a slave. Code and text are those of 5.x; a slave of 4.9.7
            makes the change, and undoes it when its master's tables change.
    """
    if config.is_slave:
        text = "Can't modify topic or subscription group from slave broker, "
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR, f"{text}please execute it from master broker."
        )


class Topics:
    """The topic table of one broker.

    Args:
        config: the settings. With enableLmq every topic with a light name (%LMQ%) exists, with
            one queue.
        stored: the content of topics.json, or None at the first start; it replaces the topics of
            ``built_in_topics``.
        now_ms: time of the data version of a new table.
        on_change: called after every change.
    """

    def __init__(
        self,
        config: BrokerConfig,
        stored: TopicTable | None = None,
        *,
        now_ms: int,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._config = config
        self._topics = {topic.topic_name: topic for topic in built_in_topics(config)}
        self.system_names = names.SYSTEM_TOPICS | self._topics.keys()
        """Topics that no request may create or delete."""
        self._version = DataVersion(timestamp_ms=now_ms, counter=0)
        if stored is not None:
            self._topics.update(stored.topics)
            self._version = stored.data_version
        self._on_change = on_change
        self._has_light = config.store.enable_lmq
        self.change_count = 0
        """Increases with every change of the table."""
        self.renewal_count = 0
        """How often name servers had to get all topics, even those that did not change."""
        self.unsaved: dict[str, int] = {}
        """Topics whose present settings are not in topics.json yet, with the number of the change
        that made them so."""

    @property
    def version(self) -> DataVersion:
        """The data version: when the table changed last, and how often."""
        return self._version

    def table(self) -> TopicTable:
        """Return a snapshot of all topics and the data version."""
        return TopicTable(topics=dict(self._topics), data_version=self._version)

    def names(self) -> set[str]:
        """Return the name of every topic."""
        return set(self._topics)

    def get(self, topic: str) -> TopicConfig | None:
        """Return a topic, or None; every light topic exists without being saved."""
        if self._has_light and is_light(topic):
            return topic_config(topic, queue_count=1)
        return self._topics.get(topic)

    def is_system(self, topic: str) -> bool:
        """True for a name that no request may create or delete."""
        return topic in self.system_names or topic.startswith(SYSTEM_PREFIX)

    def put(self, topic: TopicConfig, *, now_ms: int) -> None:
        """Create a topic or replace its settings; light topics cannot be changed."""
        if self._has_light and is_light(topic.topic_name):
            return
        self._topics[topic.topic_name] = topic
        self.unsaved[topic.topic_name] = self.change_count + 1
        self._changed(now_ms)

    def saved(self, change_count: int) -> None:
        """Note that topics.json is on the disk with all changes up to this number."""
        self.unsaved = {
            topic: change for topic, change in self.unsaved.items() if change > change_count
        }

    def delete(self, topic: str, *, now_ms: int) -> bool:
        """Remove a topic; return False if there was none."""
        if self._topics.pop(topic, None) is None:
            return False
        self._changed(now_ms)
        return True

    def create_by_template(
        self, topic: str, template: str, *, queue_count: int, sys_flag: int, now_ms: int
    ) -> TopicConfig | None:
        """Return ``topic``, and create it from ``template`` if it is missing.

        Args:
            topic: the topic.
            template: name of the topic whose permission and filter type are copied.
            queue_count: what the producer asks for; limited to the template's write queues.
            sys_flag: unit flags of the new topic.
            now_ms: time of the change.

        Returns:
            None if the topic and the template are missing, or the template does not allow it, or
            this broker is a slave.
        """
        config = self._topics.get(topic)
        if config is not None or self._config.is_slave:
            return config
        pattern = self._topics.get(template)
        if pattern is None or not is_inherited(pattern.perm):
            return None
        if template == AUTO_CREATE_TOPIC and not self._config.auto_create_topic_enable:
            return None
        count = max(0, min(queue_count, pattern.write_queue_nums))
        made = dataclasses.replace(
            topic_config(topic, queue_count=count, perm=pattern.perm & ~PERM_INHERIT),
            topic_filter_type=pattern.topic_filter_type,
            topic_sys_flag=sys_flag,
        )
        self.put(made, now_ms=now_ms)
        return made

    def create_for_group(
        self, topic: str, *, queue_count: int, sys_flag: int = 0, now_ms: int
    ) -> TopicConfig:
        """Return a retry, dead letter or transaction topic, and create it if it is missing.

        A slave returns the settings that the topic would get, and leaves it to the master to
        create it.

        Args:
            topic: the topic.
            queue_count: read queues and write queues of a new topic.
            sys_flag: unit flags of a new topic.
            now_ms: time of the change.
        """
        config = self._topics.get(topic)
        if config is None:
            config = dataclasses.replace(
                topic_config(topic, queue_count=queue_count), topic_sys_flag=sys_flag
            )
            if not self._config.is_slave:
                self.put(config, now_ms=now_ms)
        return config

    def set_ordered(self, ordered: Iterable[str], *, now_ms: int) -> None:
        """Mark exactly these topics as ordered; a name server's answer to a registration."""
        names = set(ordered)
        changed = False
        for name, topic in list(self._topics.items()):
            if topic.order != (name in names):
                self._topics[name] = dataclasses.replace(topic, order=name in names)
                changed = True
        if changed:
            self._changed(now_ms)

    def adopt(self, table: TopicTable) -> set[str]:
        """Replace the topics and the data version by those of a master.

        Returns:
            The topics that this broker had and the master does not have.
        """
        gone = self._topics.keys() - table.topics.keys()
        if table != self.table():
            self._topics = dict(table.topics)
            self._version = table.data_version
            self.change_count += 1
            self._on_change()
        return gone

    def touch(self, now_ms: int) -> None:
        """Increase the data version, so that the broker registers all topics anew."""
        self.renewal_count += 1
        self._changed(now_ms)

    def _changed(self, now_ms: int) -> None:
        self._version = DataVersion(timestamp_ms=now_ms, counter=self._version.counter + 1)
        self.change_count += 1
        self._on_change()
