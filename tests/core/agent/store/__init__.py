"""Tests of where a session keeps its entries."""
