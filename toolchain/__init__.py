"""Pinned tools, built where a machine has none."""
