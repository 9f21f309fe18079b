"""Commands about a cluster as a whole: the state of every broker, and round-trip times.

``status.py`` prints the rates and counts of all brokers; ``rt.py`` sends messages to measure how
long each broker takes to answer.
"""
