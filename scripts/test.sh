#!/usr/bin/env bash
# Installs, builds and runs every test, then the same tests under the address and undefined-behaviour sanitizers.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh --judges
for kind in release sanitize; do
  flags=(-DCMAKE_BUILD_TYPE=Release -DMD_SANITIZE=OFF)
  [ $kind = sanitize ] && flags=(-DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O1" -DMD_SANITIZE=ON)
  cmake -S . -B "build-$kind" -G Ninja "${flags[@]}"
  cmake --build "build-$kind"
  ctest --test-dir "build-$kind" --output-on-failure -j2
done
