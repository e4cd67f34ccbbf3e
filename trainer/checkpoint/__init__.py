"""Whole checkpoints or none: `store` knows the directory, `state` the tensors, `saver` when they meet."""
