"""Runs: which episodes there are to play, playing many at once, and the store that keeps them."""
