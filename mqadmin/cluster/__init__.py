"""What the servers of a running cluster report: brokers, groups, and who reads which queue.

Commands and other rooms use it to turn a broker's name or a cluster into addresses
(``brokers.py``), to ask many servers at a time (``bounded_gather.py``), and to continue when some
do not answer (``partial_answers.py``). Nothing here changes a server.
"""
