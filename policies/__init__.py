"""Policy as code: each module judges one concern with plain functions; `pack` hands them to Pulumi."""
