"""The stream client, without a network."""
