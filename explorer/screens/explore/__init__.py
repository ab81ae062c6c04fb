"""Explore: one table over runs, reps and rounds."""
