"""Tests of mqclient.consumer.pop."""
