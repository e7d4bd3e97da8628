"""The wordings that roles by rules read."""
