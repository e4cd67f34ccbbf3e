"""Container images: content tags, layers, builds, and their way into the cluster's image store."""
