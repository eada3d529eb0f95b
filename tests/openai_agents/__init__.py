"""Tests of the OpenAI Agents SDK adapter: real runs of `Runner` on the SDK's scripted model."""
