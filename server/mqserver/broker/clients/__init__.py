"""Connected clients, and what the broker keeps for them: groups, offsets, queue locks.

Start with ``members``, which the heartbeats update; ``groups`` has the settings of consumer
groups, ``offsets`` their consumer offsets, and ``client_requests`` sends requests to clients.
"""
