module trainyard.dev/toolchain/jobset

go 1.26.0

require sigs.k8s.io/jobset v0.11.1
