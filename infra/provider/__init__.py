"""The provider plugin `trainyard`: resources that make an `up` wait for what only the cluster can tell."""
