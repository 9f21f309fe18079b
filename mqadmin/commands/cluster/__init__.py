"""Commands about a cluster as a whole: the state of every broker, and round-trip times.

``list`` and ``status`` print the rates and counts of all brokers; ``rt`` sends messages to measure
how long each broker takes to answer.
"""
