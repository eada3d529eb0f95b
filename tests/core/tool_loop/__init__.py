"""Tests of `loopguard_core.tool_loop`."""
