// Serves the Kubernetes resource provider: upstream's own main embeds files that its module does not carry.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var terraformMapping []byte

// version is set by the linker.
var version string

func main() {
	provider.Serve("kubernetes", version, schema, terraformMapping)
}
