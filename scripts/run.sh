#!/usr/bin/env bash
# scripts/run.sh ARGS...: installs and builds what is missing, then runs modeldoctor with ARGS.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "$here/scripts/build.sh" >"$log" 2>&1; then cat "$log" >&2; exit 4; fi
"$here/build/modeldoctor" "$@"
