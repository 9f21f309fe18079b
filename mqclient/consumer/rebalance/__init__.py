"""Rebalance: which member of a group consumes which queue, and the locks of orderly queues.

The queues of each topic and the members of the group enter; queues that this member gets or gives
up leave to the pull loops.

Start reading with ``rebalancing.py``; ``allocate.py`` has Java's strategies.
"""
