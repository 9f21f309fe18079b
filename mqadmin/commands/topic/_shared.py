"""What ``topic show`` and ``topic status`` share: both have a row for each queue."""

from mqadmin.cli.declare import Call, Command, Needs, Outcome, command
from mqadmin.cli.decorators import topic_argument
from mqadmin.cluster.topic_queues import TopicQueue, topic_queues


def queues_command(name: str, *examples: tuple[str, str], columns: tuple[str, ...]) -> Command:
    """Return a command that has a row for each queue of a topic, and shows ``columns``."""

    @command(name, examples=examples, rows=TopicQueue, needs=Needs.EITHER, columns=columns)
    @topic_argument()
    async def show_queues(call: Call, *, topic: str) -> Outcome:
        """Return one row for each queue.

        Raises:
            NoRoute, ItemNotFound: the topic does not exist.
        """
        if call.is_offline:
            from mqadmin.store.offline import stored_queues

            return Outcome(stored_queues(call, topic))
        return await topic_queues(call, topic)

    return show_queues
