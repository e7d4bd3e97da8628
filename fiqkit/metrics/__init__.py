"""Numbers from scored episodes: pure functions over `Scored` records, and the statistics under them."""
