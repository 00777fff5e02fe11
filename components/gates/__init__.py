"""Quality gates: which trajectories may be learnt from, and the evidence for it."""
