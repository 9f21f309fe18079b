"""Pulls: read messages now, or hold the request until the next message (long polling).

A pull request (11) comes in. It is answered with records, another offset or a refusal, or it is
held. Start with ``puller.Puller``; ``pull_header`` reads nearly every header, ``pull_check``
decides what is allowed and which filter applies, and ``pull_hold`` keeps the held pulls.
"""
