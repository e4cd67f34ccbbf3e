"""Token data sets: `prepare` writes them, `verify` proves them whole, `loader` feeds them to training."""
