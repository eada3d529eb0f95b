"""Tests of the guard: findings in, a verdict out."""
