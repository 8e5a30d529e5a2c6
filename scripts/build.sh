#!/usr/bin/env bash
# Installs the packages, builds, and leaves the program at build/modeldoctor.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
cmake --preset program >&2
cmake --build build >&2
