"""The trainer in a run's pods: reads one mounted config file, knows nothing of the infrastructure."""
