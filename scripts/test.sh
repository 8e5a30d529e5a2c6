#!/usr/bin/env bash
# Installs, builds and runs every test. `scripts/test.sh --sanitize` does the same under the address and
# undefined-behaviour sanitizers (a build of its own; without the judges, who see the same files).
set -euo pipefail
cd "$(dirname "$0")/.."
kind=release
flags=(-DCMAKE_BUILD_TYPE=Release -DMD_SANITIZE=OFF)
tests=()
if [ "${1:-}" = --sanitize ]; then
  kind=sanitize
  flags=(-DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0" -DMD_SANITIZE=ON)
  tests=(-LE judge)  # the judges look at files, which another build of the program does not change
fi
scripts/setup.sh --judges
cmake -S . -B "build-$kind" -G Ninja "${flags[@]}"
cmake --build "build-$kind"
ctest --test-dir "build-$kind" --output-on-failure -j2 "${tests[@]}"
