"""Rows from model objects: columns as pure functions, headless."""
