"""One function for each request code of the name server.

A decoded request comes in and its answer goes out; ``namesrv_state`` has the tables.
"""
