"""A broker that is one of a group with a controller.

``role`` decides what the broker is, ``in_sync_set`` which replicas a message waits for, ``frames``
has the bytes between master and slave, and ``begin_plan`` decides where a slave begins to copy.
None of these has a socket or a clock, so that a simulation can drive them.
"""
