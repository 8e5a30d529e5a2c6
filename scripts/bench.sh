#!/usr/bin/env bash
# scripts/bench.sh [RUNS]: speed and memory of the reference evaluator against the LiteRT CPU interpreter and torch with one
# thread, on a MobileNet-sized convolution network and a 12-layer encoder. It prints and never fails on a number: machines differ.
# The aim is a ratio of 5 in time, and 3 in memory over the largest set of values that live at once.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-5}
build=${MD_BUILD:-build-release}
[ -d "$build" ] || cmake --preset release -B "$build" >&2
cmake --build "$build" --target md_bench >&2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 scripts/bench_models.py "$folder"
for model in convolution encoder; do
  python3 scripts/bench_models.py --time "$folder/$model.tflite" "$runs" > "$folder/litert" 2> "$folder/log" || { cat "$folder/log" >&2; exit 1; }
  "$build/md_bench" "$folder/$model.tflite" "$runs" > "$folder/ours"
  python3 - "$model" "$folder/litert" "$folder/ours" <<'PY'
import json, sys
litert, ours = float(open(sys.argv[2]).read().split()[-1]), json.load(open(sys.argv[3]))
mb = 1 / 1e6
print(f"{sys.argv[1]:<12} evaluator {ours['seconds'] * 1e3:7.1f} ms, LiteRT one thread {litert * 1e3:7.1f} ms: {ours['seconds'] / litert:4.1f} times; "
      f"memory {ours['peak_bytes'] * mb:6.1f} MB, largest live set {ours['live_bytes'] * mb:6.1f} MB: {ours['peak_bytes'] / ours['live_bytes']:4.1f} times")
PY
done
python3 scripts/bench_programs.py "$folder" "$runs" > "$folder/torch" 2> "$folder/log" || { cat "$folder/log" >&2; exit 1; }
for program in convolution encoder; do
  "$build/md_bench" "$folder/$program.pt2" "$runs" > "$folder/ours"
  python3 - "$program" "$folder/torch" "$folder/ours" <<'PY'
import json, sys
torch, ours = dict(line.split() for line in open(sys.argv[2]))[sys.argv[1]], json.load(open(sys.argv[3]))
torch = float(torch)
print(f"{sys.argv[1]:<12} evaluator {ours['seconds'] * 1e3:7.1f} ms, torch one thread  {torch * 1e3:7.1f} ms: {ours['seconds'] / torch:4.1f} times")
PY
done
