"""The provider plugin `trainyard`: one resource, which ends an `up` only when a run's pods have started."""
