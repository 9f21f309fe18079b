"""Commands about brokers: list them, read and change their settings, and change their roles.

Statistics, connections and settings are read from the brokers that are named, or from all brokers
of a cluster. ``clean`` deletes expired data, ``write-perm`` asks name servers to hide a broker from
producers, ``promote`` makes a slave the master, and ``demote`` makes a replaced master a slave.
"""
