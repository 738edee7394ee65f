"""Makes an applier apply exactly one commit and follows that operation to its end."""
