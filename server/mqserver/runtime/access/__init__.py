"""Addresses: this machine's own, patterns of others, and who may change a server."""
