#!/bin/sh
# Resolves pyproject.toml into locks/: hashes, but no index address, so that each machine uses its own mirror.
set -eu
cd "$(dirname "$0")/.."
uv=${UV:-uv}
compile="$uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11"
$compile pyproject.toml --universal --extra build --output-file locks/operator.txt "$@"
$compile pyproject.toml --universal --extra build --extra trainer --extra dev --constraint locks/operator.txt \
  --output-file locks/dev.txt "$@"
python3 -c 'import tomllib; print("\n".join(tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["trainer"]))' |
  $compile - --python-platform x86_64-manylinux_2_28 --constraint locks/dev.txt --output-file locks/trainer.txt "$@"
