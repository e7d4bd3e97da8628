"""The run store: schema, episodes and verdicts in, scored rows and transcripts out."""
