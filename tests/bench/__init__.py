"""Benchmarks: they print figures and never judge them. ``python -m tests.bench`` runs all, ``--list`` names them."""
