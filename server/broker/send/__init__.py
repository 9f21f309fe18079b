"""Sends: which messages are allowed, and the record that each of them becomes.

A send request (10, 310, 320) or a message given back (36) comes in; a message for the store
or a refusal goes out. Start with ``sender.Sender``; ``topic_rules`` keeps what a topic
decides for every send to it.
"""
