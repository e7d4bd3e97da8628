"""Readers of filings and exports: whatever a path holds becomes rows of one fact table, and passages beside it."""
