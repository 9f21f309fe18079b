"""The filter server: runs filter modules of consumers in a separate process.

Consumers' modules and pulls come in; the messages that a module accepts go out. Start with
``app``; ``compiling`` and ``module`` limit the resources that a module may use.
"""
