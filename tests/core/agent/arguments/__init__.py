"""Tests of the argument gate."""
