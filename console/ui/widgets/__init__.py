"""Widgets of the screen. They know rows, columns and tones, and no platform."""
