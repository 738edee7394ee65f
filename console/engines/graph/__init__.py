"""Dependency-ordered create, update and delete of resources."""
