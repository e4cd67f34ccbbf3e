"""The curves of a run: from metrics to charts; pure, and free of any plotting library."""
