"""Tests of what a scan of saved runs reports."""
