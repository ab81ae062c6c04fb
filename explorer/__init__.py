"""The Textual app and the command line over the `sweeps` engine."""
