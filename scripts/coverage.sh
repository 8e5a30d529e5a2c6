#!/usr/bin/env bash
# scripts/coverage.sh [TESTS...]: line coverage of lib/ and rules/ by the unit tests (all, or those named as for Catch2), in a
# build of its own (build-coverage). Prints every file, the total, and the files below ${MD_COVERAGE_GOAL:-85} %.
# Not part of the tests: instrumented and not optimized, the whole run takes a quarter of an hour and more.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v gcovr >/dev/null || { echo "coverage.sh needs gcovr (Debian's package gcovr)" >&2; exit 2; }
goal=${MD_COVERAGE_GOAL:-85}
cmake --preset coverage >&2
cmake --build build-coverage --target modeldoctor_tests >&2
find build-coverage -name '*.gcda' -delete
# A test that fails still says what it ran through.
./build-coverage/modeldoctor_tests "$@" >build-coverage/tests.log 2>&1 || echo "coverage.sh: not all tests pass: build-coverage/tests.log" >&2
gcovr --root . --object-directory build-coverage --filter 'lib/' --filter 'rules/' --json-summary build-coverage/coverage.json build-coverage
python3 - build-coverage/coverage.json "$goal" <<'PY'
import json, sys
summary, goal = json.load(open(sys.argv[1])), float(sys.argv[2])
files = sorted((f for f in summary["files"] if f["line_total"]), key=lambda f: f["line_covered"] / f["line_total"])
row = lambda f: f"{100 * f['line_covered'] / f['line_total']:6.1f} % {f['line_covered']:5} of {f['line_total']:5}  {f['filename']}"
print(*map(row, files), sep="\n")
low = [f for f in files if 100 * f["line_covered"] < goal * f["line_total"]]
print(f"\nbelow {goal:g} %: {len(low)} of {len(files)} files", *map(row, low), sep="\n")
print(f"\n{summary['line_percent']} % of {summary['line_total']} lines")
PY
