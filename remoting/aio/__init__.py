"""Connections on an event loop: a server, a client, TLS, and limits on both.

Frames come in from sockets and are handed to one function, or answers to whoever asked.
Start with ``server.RemotingServer`` and ``client.RemotingClient``; ``link`` is what the two
ends share, ``resources`` bounds descriptors and bytes in flight.
"""
