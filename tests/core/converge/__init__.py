"""Tests of `loopguard_core.converge`."""
