"""Tests of the heredoc transport."""
