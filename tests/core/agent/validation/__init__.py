"""Tests of the validators."""
