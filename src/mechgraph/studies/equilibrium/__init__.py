"""States whose speeds stay as they are: rest, and steady motion."""
