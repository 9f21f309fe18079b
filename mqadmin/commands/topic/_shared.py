"""What ``topic show`` and ``topic status`` share: both have a row for each queue."""

from mqadmin.cli.declare import Call, Command, Needs, Outcome, command
from mqadmin.cli.decorators import of_cluster, topic_argument
from mqadmin.cluster.topic_queues import TopicQueue, topic_queues


def queues_command(name: str, *examples: tuple[str, str], columns: tuple[str, ...]) -> Command:
    """Return a command that has a row for each queue of a topic, and shows ``columns``."""

    @command(name, examples=examples, rows=TopicQueue, needs=Needs.EITHER, columns=columns)
    @topic_argument()
    @of_cluster(help="only queues on brokers of this cluster")
    async def show_queues(call: Call, *, topic: str, cluster: str | None) -> Outcome:
        """Return one row for each queue.

        Raises:
            NoRoute, ItemNotFound: the topic does not exist, or not in the cluster.
        """
        if call.is_offline:
            from mqadmin.store_access.stored_rows import refuse_cluster, stored_queues

            refuse_cluster(cluster)
            return Outcome(stored_queues(call, topic))
        return await topic_queues(call, topic, cluster=cluster)

    return show_queues
