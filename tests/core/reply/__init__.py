"""Tests of the watch of a reply."""
