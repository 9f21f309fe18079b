"""Opening a store directory after a shutdown, a kill or a power cut.

A directory goes in. A log without a torn tail comes out, with queues and index that agree with
it, and a report of what was found. Start with ``opening``; ``trust`` decides whether
``dispatch.json`` (the safe point) makes a scan of the whole log unnecessary, and
docs/decisions/0002 has the table of states.
"""
