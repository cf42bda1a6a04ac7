"""Dialectical autocoding on GitHub: a Player implements, a Coach judges, measurements decide, people review."""

__version__ = "0.1.0"
