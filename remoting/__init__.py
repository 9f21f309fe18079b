"""RocketMQ's wire protocol: request codes, headers, bodies, frames and connections.

The bytes of a connection come in and typed requests and answers go out, and the reverse. Only
``aio`` and ``direct`` use sockets; nothing here needs a third-party package. Start with
``command.Command`` and ``frame``; ``fast_path`` is the short cut for sends.
"""
