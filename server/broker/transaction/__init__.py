"""Transactional messages: half messages, decisions, and checks of those left open.

A half message or a decision of its producer (37) comes in; a committed message or a question
to the producer goes out. Start with ``half_messages``; ``checks`` looks after those that
nobody decided, and ``open_messages`` lists them for people.
"""
