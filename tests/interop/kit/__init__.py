"""The kit of the interop tests: servers and clients of both sides, and what both are asked.

    servers      name servers and brokers as processes, the real ones and ours
    toolbox      one JVM with the real Java client and the real mqadmin
    our_clients  clients of ours: one question, a consumer in a thread, reading what a broker has
    raw_calls    requests as plain header fields; bothsides puts the same ones to both brokers
    scene        the same topics, groups and messages on two pairs, for commands
    java_build   fetches the jars and compiles our Java programs, once per checkout
    process      a child process whose lines are awaited

Start reading with ``servers.py``. ``tests/interop/conftest.py`` has the servers that all tests
share: a test that starts its own needs other settings, a store of its own, or a kill.
"""
