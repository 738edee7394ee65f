"""Quarterdeck: a terminal operations console for Kubernetes, Docker Swarm and Docker hosts."""

__version__ = "0.1.0"
