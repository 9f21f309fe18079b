"""The filter server: runs filter modules of consumers in a process of its own.

Modules and pulls of consumers come in; the messages that a module wants go out. Start with
``app``; ``compiling`` and ``module`` bound what a module may use.
"""
