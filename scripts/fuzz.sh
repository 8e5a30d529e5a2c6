#!/usr/bin/env bash
# scripts/fuzz.sh NAME [SECONDS] [CORPUS_FOLDER...]: builds test/fuzz/NAME_fuzz.cpp with clang's libFuzzer and sanitizers,
# and runs it on the fixtures of that name's format (tflite, pt2, pte, log, ...) and the folders given. Crashes land in
# build-fuzz/; each becomes a file in a test when it is mended.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:?which fuzzer? one of: $(ls test/fuzz | sed 's/_fuzz.cpp//' | tr '\n' ' ')}
seconds=${2:-60}
[ $# -gt 1 ] && shift 2 || shift
command -v clang++ >/dev/null || { echo "fuzz.sh needs clang++ (Debian's package clang)" >&2; exit 2; }
cmake --preset fuzz >&2
cmake --build build-fuzz --target "${name}_fuzz" >&2
mkdir -p "build-fuzz/corpus-$name"
find fixtures -name "*.$name" -size -64k -exec cp -f {} "build-fuzz/corpus-$name/" \;
if [ "$name" = pt2 ]; then  # the programs and pickles inside, which a fuzzer reaches only without their archive
  for archive in build-fuzz/corpus-pt2/*.pt2; do
    python3 - "$archive" <<'EXTRACT'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    for name in z.namelist():
        if name.endswith(("models/model.json", "exported_program.json")):
            open(sys.argv[1] + ".json", "wb").write(z.read(name))
        elif name.endswith(".pt"):
            import io
            try:
                with zipfile.ZipFile(io.BytesIO(z.read(name))) as inner:
                    for pickle in inner.namelist():
                        if pickle.endswith("data.pkl"):
                            open(f"{sys.argv[1]}.{name.split('/')[-1]}.pkl", "wb").write(inner.read(pickle))
            except zipfile.BadZipFile:
                pass
EXTRACT
  done
fi
cd build-fuzz
exec "./${name}_fuzz" -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=2048 -timeout=20 "corpus-$name" "$@"
