"""Connections, store, commands and lifecycle: the one place that holds engines and backends together."""
