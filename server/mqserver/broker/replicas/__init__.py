"""The parts of a broker that belong to a group with a controller.

``frames`` has the bytes on the replication connection of such a group, and ``in_sync_set`` decides
which replicas a message waits for. Neither has a socket or a clock.
"""
