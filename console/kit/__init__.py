"""Asyncio and text tools that know nothing of clusters, swarms or screens."""
