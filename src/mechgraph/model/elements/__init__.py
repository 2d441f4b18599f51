"""Machine elements: ropes, belts, gears, bushings, bearings, tyres, drives, guides."""
