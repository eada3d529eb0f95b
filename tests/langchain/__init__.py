"""Tests of the langchain package, one file for each concern."""
