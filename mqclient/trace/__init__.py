"""Message traces: records of what was sent, consumed and committed, kept in a topic of their own.

Events of send and consume hooks enter ``MessageTrace``, which sends them as trace messages in
Java's text format; ``trace_data.py`` reads such messages back.

Start reading with ``message_trace.py``.
"""
