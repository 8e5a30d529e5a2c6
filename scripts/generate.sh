#!/usr/bin/env bash
# scripts/generate.sh [SECONDS] [SEED]: random valid .tflite models (test/generated_models.h) through reading, check, fix, writing,
# a second fix, fp16 and inspect. What breaks is printed, and the model kept in build-release/generated/. MD_BUILD names another
# build (build-sanitize for one with sanitizers).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${MD_BUILD:-build-release}
[ -d "$build" ] || cmake --preset release -B "$build" >&2
cmake --build "$build" --target md_generate >&2
mkdir -p "$build/generated" && cd "$build/generated"
exec ../md_generate "${1:-60}" "${2:-$RANDOM$RANDOM}"
