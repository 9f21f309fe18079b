"""The same client for programs that do not use asyncio.

A ``BlockingClient`` runs an event loop in a thread of its own; a call enters from any thread,
runs in that loop, and its result or error goes back to the caller, which waits for it.

Start reading with ``client.py``; ``proxy.py`` explains how an async method becomes a blocking one.
"""
