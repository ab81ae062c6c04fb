"""`python -m explorer` is `specdec`."""

from explorer.cli import main

if __name__ == "__main__":
    main()
