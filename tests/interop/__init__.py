"""Tests that put our code and the real Java RocketMQ 4.9.7 at the two ends of a wire or a store."""
