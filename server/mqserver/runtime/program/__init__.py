"""A server as a program: flags, limits, log, event loop, and the run from start to signal.

``process.serve`` runs one; ``commandline`` says what its flags and files mean.
"""
