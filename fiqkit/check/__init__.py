"""A user's own instances, passages, questions and index, held against each other before a run."""
