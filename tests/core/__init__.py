"""Tests of the core package, one file for each concern."""
