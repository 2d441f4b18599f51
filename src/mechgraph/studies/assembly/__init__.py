"""From what the user named to a state that satisfies every constraint."""
