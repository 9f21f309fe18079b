"""Connected clients, and what the broker keeps for them: groups, offsets, queue locks.

Start with ``members``, which the heartbeats update; ``subscription_groups`` has the settings of
consumer groups, ``consumer_offsets`` their offsets, and ``client_requests`` sends requests to
clients.
"""
