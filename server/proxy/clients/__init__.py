"""The clients of the endpoint: what each told, works on, and has not ended.

``sessions`` has an entry for each client, ``settings`` what counts of what it told, ``renewals``
the messages that it works on, ``transactions`` those of all producers.
"""
