"""Others' recorded runs into the store."""
