"""Passages to a search index: FAISS and BM25, fused by the language of the query."""

from fiqkit.index.builder import build
from fiqkit.index.missing import missing_passages
from fiqkit.index.search import Hit, Index

__all__ = ["Hit", "Index", "build", "missing_passages"]
