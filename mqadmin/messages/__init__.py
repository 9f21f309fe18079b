"""Messages as rows, from brokers or from a store directory, and the work on single messages.

``message_rows.py`` is the row that every command prints; ``browse.py`` gives the messages of a
topic, whichever side they come from; ``filter.py`` selects among them. Resending a message, handing
one to a consumer, tracing one and writing many to a file have a module each.
"""
