"""The command line: arguments, exit codes, headless output."""
