"""The graph engine's tables in the journal's file."""

from __future__ import annotations

GRAPH_TABLES = """
    CREATE TABLE graph_resource (
        namespace TEXT NOT NULL,
        project TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        id TEXT NOT NULL,
        input BLOB NOT NULL,
        input_hash TEXT NOT NULL,
        output BLOB NOT NULL,
        sources BLOB NOT NULL,
        deps BLOB NOT NULL,
        replaces TEXT NOT NULL DEFAULT '',
        secret_paths BLOB NOT NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        run_id TEXT NOT NULL,
        PRIMARY KEY (namespace, project, kind, name, id)
    ) STRICT;
    CREATE TABLE graph_intent (
        namespace TEXT NOT NULL,
        project TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        input BLOB NOT NULL,
        input_hash TEXT NOT NULL,
        sources BLOB NOT NULL,
        deps BLOB NOT NULL,
        secret_paths BLOB NOT NULL,
        started TEXT NOT NULL,
        run_id TEXT NOT NULL,
        PRIMARY KEY (namespace, project, id)
    ) STRICT;
    CREATE TABLE graph_run (
        namespace TEXT NOT NULL,
        project TEXT NOT NULL,
        id TEXT NOT NULL,
        started REAL NOT NULL,
        finished REAL NOT NULL,
        outcome TEXT NOT NULL,
        report BLOB NOT NULL,
        PRIMARY KEY (namespace, project, id)
    ) STRICT;
    CREATE TABLE graph_run_lock (
        namespace TEXT NOT NULL,
        project TEXT NOT NULL,
        run_id TEXT NOT NULL,
        owner TEXT NOT NULL,
        beat REAL NOT NULL,
        PRIMARY KEY (namespace, project)
    ) STRICT;
"""
