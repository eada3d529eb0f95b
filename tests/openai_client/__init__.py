"""`watch_client` with the real client, against a real server that speaks its protocol."""
