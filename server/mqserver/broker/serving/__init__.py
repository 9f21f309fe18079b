"""Group commit, answers, cold reads and flow control, which sends and pulls share.

``group_commit`` stores all messages that arrive in one pass of the event loop with one write and
one sync, and then sends the answers. ``answers`` formats them, ``cold_reads`` moves reads from
disk to threads, ``deadlines`` wakes what has waited long enough, and ``overload`` refuses sends
early. Start with ``group_commit.GroupCommit``.
"""
