"""Whole screens and dialogs, put together from the widgets."""
