#!/usr/bin/env bash
# Installs the packages, builds, and leaves the program at build/modeldoctor.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DMD_TESTS=OFF -DMD_WERROR=OFF >&2
cmake --build build >&2
