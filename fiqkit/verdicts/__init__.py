"""Recorded runs graded or judged again, and people's rulings."""
