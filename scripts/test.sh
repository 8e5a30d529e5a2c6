#!/usr/bin/env bash
# Installs, builds and runs every test. `scripts/test.sh --sanitize` does the same under the address and
# undefined-behaviour sanitizers (a build of its own; without the judges, who see the same files).
set -euo pipefail
cd "$(dirname "$0")/.."
kind=release
tests=()
if [ "${1:-}" = --sanitize ]; then
  kind=sanitize
  tests=(-LE judge)  # the judges look at files, which another build of the program does not change
fi
scripts/setup.sh --judges
cmake --preset "$kind"
cmake --build "build-$kind"
ctest --test-dir "build-$kind" --output-on-failure -j2 "${tests[@]}"
