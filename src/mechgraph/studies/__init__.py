"""What equations are used for: assembly, simulation, inverse dynamics."""
