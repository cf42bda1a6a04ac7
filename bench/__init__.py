"""Figures for docs/benchmarks.md; nothing here is a test, and no test asserts a time."""
