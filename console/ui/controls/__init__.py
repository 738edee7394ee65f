"""What the actions of the registry do on the main screen; one class a group, each a table from action id to function."""
