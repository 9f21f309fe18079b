"""Pulls: messages read now, or a request that waits for the next message.

A pull request (11) comes in, and records, a redirection or a held pull come out. Start with
``puller.Puller``; ``pull_check`` decides what is allowed and which filter applies, and
``pull_hold`` keeps the pulls that wait.
"""
