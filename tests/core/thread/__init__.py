"""Tests of `loopguard_core.thread`."""

"""Tests of `loopguard_core.thread`."""
