"""The retry topics of groups that pop: ``%RETRY%<group>_<topic>``.

    %RETRY%G_T    what group G popped of topic T and did not acknowledge in time
    %RETRY%G      the retry topic of a group that pulls; also that of a group named ``G_T``

Rule: a retry topic goes with its topic and with its group. A name that can be read in another way
stays, because it may hold the messages of another group.

Source: broker/processor/AdminBrokerProcessor.java#deleteTopic (5.4.0, which looks at the topic
only).
"""

from collections.abc import Iterator

from mqserver.broker.clients.subscription_groups import Groups
from mqserver.broker.topics import Topics
from storefmt.names import RETRY_PREFIX


def pop_retry_topics(
    topics: Topics, groups: Groups, *, topic: str | None = None, group: str | None = None
) -> list[str]:
    """Return the retry topics that belong to a deleted topic, or to a deleted group, alone.

    Args:
        topics: all topics.
        groups: all groups.
        topic: the topic whose retry topics are meant; None for those of any topic.
        group: the group whose retry topics are meant; None for those of any group.
    """
    names = topics.names()
    retry_topics = []
    for name in names:
        if not name.startswith(RETRY_PREFIX):
            continue
        owner = name.removeprefix(RETRY_PREFIX)
        if groups.get(owner) is not None:
            continue
        others = False
        is_meant = False
        for its_group, its_topic in _readings(owner):
            if its_topic == topic or its_group == group:
                is_meant = True
            elif groups.get(its_group) is not None and its_topic in names:
                others = True
        if is_meant and not others:
            retry_topics.append(name)
    return sorted(retry_topics)


def _readings(owner: str) -> Iterator[tuple[str, str]]:
    """Yield each group and topic that the name of a retry topic can stand for."""
    for pos, letter in enumerate(owner):
        if letter == "_" and 0 < pos < len(owner) - 1:
            yield owner[:pos], owner[pos + 1 :]
