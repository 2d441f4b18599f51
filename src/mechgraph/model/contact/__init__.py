"""Surfaces that roll, slide and touch: where they meet, and what they do to each other there."""
