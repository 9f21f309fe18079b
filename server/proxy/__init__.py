"""The gRPC endpoint of RocketMQ 5, in front of any brokers.

``front`` is the port, ``service`` the methods, ``sessions`` the clients, ``cluster`` the brokers;
each of the others handles a few methods. ``protocol`` has the messages.

Start reading with ``service.py``. No module but ``front`` needs grpcio, and that loads it when the
first client connects.
"""
