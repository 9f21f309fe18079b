"""Who is connected, and what the broker keeps for clients: groups, positions, locks.

Heartbeats, positions and locks of clients come in; lists of members, positions and questions
to clients go out. Start with ``members``; ``offsets`` holds where each group is.
"""
