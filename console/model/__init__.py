"""What the console knows, as frozen objects and pure functions. No input or output here."""
