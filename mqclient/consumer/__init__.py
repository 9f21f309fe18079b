"""Consumers: push (a listener gets the messages), lite pull (``poll``) and pull (any queue offset).

Messages of the brokers enter through one pull loop for each assigned queue, wait in a
``ProcessQueue``, and leave to a listener or to ``poll``; consumer offsets and failed messages go
back to the brokers.

Start reading with ``push_consumer.py``; ``rebalance.py`` explains who gets which queue.
"""
