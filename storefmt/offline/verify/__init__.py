"""Verification of a whole store, and the seals that make every flipped bit visible.

An opened store enters and a ``Report`` of findings leaves; damage is a finding, never an
error. Each ``check_*`` module checks one part, and ``bulk*`` does the same for whole windows
with numpy. Start with ``store.verify``, which runs the checks in order.
"""
