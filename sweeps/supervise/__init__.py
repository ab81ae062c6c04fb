"""Starts workers one at a time, limits them, records how they end, and goes on."""
