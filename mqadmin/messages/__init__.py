"""Messages as rows, from brokers or from a store directory, and what is done with them.

``message_rows.py`` is the row that every command prints; ``browse.py`` gives the messages of a
topic, whichever side they come from; ``filter.py`` says which of them are wanted. Sending one
again, handing one to a consumer, tracing one and writing many to a file have a module each.
"""
