"""Constraints on what a model may write: JSON schemas and choices, and the grammars that hold to them."""
