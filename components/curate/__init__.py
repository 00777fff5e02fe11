"""Accepted trajectories become rows to train on."""
