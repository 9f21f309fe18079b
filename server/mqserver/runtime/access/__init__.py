"""Addresses: this machine's own, patterns of others, and who may change a server.

A peer's address comes in, and an answer to "may it?" goes out. Start with ``admin_gate``, which
guards servers without accounts; ``addresses`` has the patterns of ACL white lists, and
``hostaddress`` finds the address that a server registers.
"""
