"""The numbers as people read them: terminal, CSV, JSON, LaTeX, Markdown and one HTML page."""
