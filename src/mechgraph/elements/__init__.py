"""What can stand on the graph: bodies, joints, forces, constraints."""
