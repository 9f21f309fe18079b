"""What the servers of a running cluster report: brokers, groups, and who reads which queue.

Commands and other rooms come here to turn a broker's name, a cluster or nothing at all into
addresses (``brokers.py``), to ask many servers at a time (``bounded_gather.py``), and to go
on when some do not answer (``partial_answers.py``). Nothing here changes a server.
"""
