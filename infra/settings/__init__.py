"""Stack settings: parsed once, frozen, validated; the only package that knows the stack file's format."""
