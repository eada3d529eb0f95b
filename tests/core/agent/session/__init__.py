"""Tests of the session: its turns, its guard, its errors."""
