"""Tests of the bytes at rest, against what real RocketMQ brokers wrote."""
