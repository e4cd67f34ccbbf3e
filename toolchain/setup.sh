#!/bin/sh
# Makes .venv from locks/<set>.txt (dev unless told otherwise); does nothing when it is already in place.
# Takes the package index and certificates from the machine's pip configuration.
set -eu
cd "$(dirname "$0")/.."
set_name=${1:-dev}
cache=${TRAINYARD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trainyard}
say() { printf '%s\n' "trainyard: $*" >&2; }

need_python() {
  python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing python3 from Debian"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3 python3-venv >/dev/null
  else
    say "error: Python 3.11 or later with venv is missing; next: install python3 and python3-venv"
    exit 1
  fi
}

need_uv() {
  version=$(sed -n 's/^uv==\([0-9.]*\).*/\1/p' locks/uv.txt)
  uv=$cache/uv-$version/bin/uv
  [ -x "$uv" ] && return
  say "installing uv $version"
  python3 -m venv "$cache/uv-$version"
  "$cache/uv-$version/bin/python" -m pip install --quiet --require-hashes -r locks/uv.txt
}

# Debian's python3 comes without pip; the one beside uv has it.
pip_option() {
  for python in python3 "$cache/uv-$version/bin/python"; do
    "$python" -m pip config get "$1" 2>/dev/null && return
  done || true
}

use_pip_configuration() {
  index=${PIP_INDEX_URL:-$(pip_option global.index-url)}
  [ -z "$index" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$index}"
  certificates=${PIP_CERT:-$(pip_option global.cert)}
  [ -z "$certificates" ] || export SSL_CERT_FILE="${SSL_CERT_FILE:-$certificates}"
}

wanted="$set_name $(cat "locks/$set_name.txt" pyproject.toml | sha256sum | cut -c1-16)"
stamp=.venv/trainyard-set
[ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || exit 0

need_python
need_uv
use_pip_configuration
say "preparing .venv from locks/$set_name.txt (the first time this fetches about 4 GB for torch)"
rm -f "$stamp"
[ -x .venv/bin/python ] || "$uv" venv --quiet --python 3.11 .venv
"$uv" pip sync --quiet --python .venv/bin/python --require-hashes "locks/$set_name.txt"
"$uv" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
printf '%s\n' "$wanted" > "$stamp"
