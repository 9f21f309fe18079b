"""Pulling messages: single pull requests, one pull loop for each queue, and the buffer of ``poll``.

A queue with its start offset enters; the loop asks the broker again and again, puts the messages
into the process queue, and hands them to a ``ConsumeService``.

Start reading with ``pull_message_service.py``; ``pull_request.py`` has one request and its answer.
"""
