"""What a view of the tables is and how it is computed: pure Polars, no Textual."""
