"""Sends: the checks on a message, and the record that the message becomes.

A send request (10, 310, 320) comes in; a message for the store or a refusal goes out. Start with
``sender.Sender``; ``topic_rules`` caches what is the same for every send to a topic.
"""
