"""What a sweep is doing, read from its results folder: no Textual, no ownership, any number of readers."""
