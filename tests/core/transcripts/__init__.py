"""Tests of the readers for saved runs."""
