"""Consumers: push (a listener gets the messages), lite pull (``poll``) and pull (any queue offset).

    rebalance/  which queues this member has
    pull/       one pull loop for each of them
    listener/   calls the application's listener
    state/      what these share: process queues, offsets, rates

Messages of the brokers enter through the pull loops, wait in a ``ProcessQueue``, and leave to a
listener or to ``poll``; consumer offsets and failed messages go back to the brokers.

Start reading with ``push_consumer.py``; ``group_consumer.py`` has what it shares with lite pull.
"""
