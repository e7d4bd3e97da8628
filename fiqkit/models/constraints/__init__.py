"""Constraints on what a model may write: JSON schemas, choices, grammars."""
