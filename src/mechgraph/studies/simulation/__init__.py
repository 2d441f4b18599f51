"""From a start to a trajectory: integrators, events, inputs, the run."""
