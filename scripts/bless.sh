#!/usr/bin/env bash
# scripts/bless.sh [ID]: writes expected.json and after.txt of the fixture folders (fixtures/ID-*), or of all. Read the diff.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -d build ] || cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release
cmake --build build --target modeldoctor_tests
MODELDOCTOR_BLESS=1 MODELDOCTOR_BLESS_ONLY="${1:-}" ./build/modeldoctor_tests "[fixtures]"
git status --short fixtures
