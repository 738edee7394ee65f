"""Tests of the dispatch engine over a simulated API server and simulated controllers."""
