"""The durable record of what this console did: operations, steps, calls, undo data."""
