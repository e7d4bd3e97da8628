"""How the `rules` grader reads an answer: the claims in it, and the one value that it commits to."""
