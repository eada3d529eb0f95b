"""Tests of `loopguard_core.agent`."""
