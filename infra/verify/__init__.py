"""Node checks: plain functions over a host, which tests/nodes runs through testinfra on any node."""
