"""The Textual screen. Textual and Rich are imported here and nowhere else."""
