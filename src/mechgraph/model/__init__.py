"""What the user says: bodies, joints, forces, constraints, surfaces; the builder ``System`` and its
frozen description."""
