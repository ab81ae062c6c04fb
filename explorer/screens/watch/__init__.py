"""Watch: follow a sweep as it runs, see how it ended, replay it."""
