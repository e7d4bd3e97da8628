"""Measures whether a language-model agent resolves ambiguous financial questions before it answers them."""

__version__ = "0.1.0"
