"""Real text to train on: Debian's documentation packages, made into clean, deduplicated documents."""
