module trainyard.dev/toolchain/pulumi

go 1.26.6

require github.com/pulumi/pulumi/pkg/v3 v3.274.1
