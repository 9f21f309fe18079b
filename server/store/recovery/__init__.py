"""How a store directory is opened after a stop, a kill or a power cut.

A directory goes in; a log without a torn tail, with queues and index that agree with it,
comes out, and a report of what was found. Start with ``opening``; ``trust`` decides
whether ``dispatch.json`` (the safe point) spares the walk of the whole log, and
docs/decisions/0002 has the table of states.
"""
