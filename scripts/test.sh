#!/usr/bin/env bash
# Installs, builds and runs every test. `scripts/test.sh --sanitize` does the same under the address and
# undefined-behaviour sanitizers (a build of its own, several times slower).
set -euo pipefail
cd "$(dirname "$0")/.."
kind=release
flags=(-DCMAKE_BUILD_TYPE=Release -DMD_SANITIZE=OFF)
if [ "${1:-}" = --sanitize ]; then
  kind=sanitize
  flags=(-DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0" -DMD_SANITIZE=ON)
fi
scripts/setup.sh --judges
cmake -S . -B "build-$kind" -G Ninja "${flags[@]}"
cmake --build "build-$kind"
ctest --test-dir "build-$kind" --output-on-failure -j2
