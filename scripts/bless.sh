#!/usr/bin/env bash
# scripts/bless.sh [ID]: writes expected.json and after.txt of the fixture folders (fixtures/ID-*), or of all. Read the diff.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset release
cmake --build build-release --target modeldoctor_tests
MODELDOCTOR_BLESS=1 MODELDOCTOR_BLESS_ONLY="${1:-}" ./build-release/modeldoctor_tests "[fixtures]"
git status --short fixtures
