"""The whole suite; scenarios.py is the table every driver runs."""
