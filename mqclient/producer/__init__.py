"""Producers: ordinary, batched, one-way, transactional and request-reply messages.

A ``Message`` of the application enters; it is packed as Java packs it, sent to a queue of its
topic, and a ``SendResult`` or a ``ClientError`` leaves. Send hooks see every attempt.

Start reading with ``producer.py``; ``delivery.py`` explains how a send is tried again.
"""
