"""What the servers of a running cluster tell: brokers, groups, and who reads which queue.

Commands and other rooms come here to turn a broker's name, a cluster or nothing at all into
addresses (``brokers.py``), and to ask many servers at a time (``bounded_gather.py``), of which
one may not answer (``partial_answers.py``). Nothing here changes a server.
"""
