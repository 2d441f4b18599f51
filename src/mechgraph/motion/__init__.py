"""How what was said moves: spanning tree, coordinates, the motion as seen from outside, loads,
constraint rows, reactions."""
