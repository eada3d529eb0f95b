"""Tests of the LlamaIndex adapter; real agents and workflows on a scripted model."""
