"""Connections on an event loop: a server, a client, TLS, and limits on both.

A server passes the frames that arrive to one function; a client passes answers to the callers that
wait for them. Start with ``server.RemotingServer`` and ``client.RemotingClient``. ``link`` is the
part that both share, and ``resources`` limits descriptors and bytes in flight.
"""
