#!/usr/bin/env bash
# scripts/generate.sh [SECONDS] [SEED]: random valid .tflite models (test/generated_models.h) through reading, check, fix, writing,
# a second fix, fp16 and inspect. What breaks is printed, and the model kept in build/generated/. MD_BUILD_DIR names another build
# (build-sanitize for one with sanitizers).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${MD_BUILD_DIR:-build}
[ -f "$build/CMakeCache.txt" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >&2
cmake --build "$build" --target md_generate >&2
mkdir -p "$build/generated" && cd "$build/generated"
exec ../md_generate "${1:-60}" "${2:-$RANDOM$RANDOM}"
