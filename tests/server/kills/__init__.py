"""A kit that kills a broker again and again and checks that it keeps its promise.

    supervisor   starts the broker, ours or the real one, and kills it
    load         sends, reads, commits, deletes, until the broker is gone
    ledger       what the load did, and what the broker answered
    checker      reads everything that is left and compares it with the ledger
    loop         the lives of the broker: start, check, load, SIGKILL, verify

    python -m tests.server.kills --kills 40 --flush ASYNC_FLUSH --target ours --seed 7

prints its seed, one line for each kill, and the totals as JSON at the end. It exits with 1 if
anything acknowledged was lost. The copy of the store of each kill with a fault is kept.

Rule: a SIGKILL leaves the page cache, so nothing acknowledged may be lost with ASYNC_FLUSH
either. What a power cut takes away is for the simulated disk of ``tests/server/store``. The kit
talks to the broker as any client does, and knows nothing of the store but its directory.
"""
