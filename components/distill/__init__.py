"""Rollouts at scale: tasks in, graded trajectories out."""
