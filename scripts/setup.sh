#!/usr/bin/env bash
# Installs what the build needs from Debian, and with --judges the real runtimes that the tests ask (in a virtual
# environment under ${MD_VENVS:-$HOME/.cache/modeldoctor}). Safe to run again: it only installs what is missing.
set -euo pipefail
packages=(cmake ninja-build g++ ccache pkg-config libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev
  libflatbuffers-dev flatbuffers-compiler libexpected-dev libeigen3-dev libzip-dev catch2 clang-format python3-venv)
judges=no
[ "${1:-}" = --judges ] && judges=yes && packages+=(chromium libvulkan1 nodejs npm)
missing=()
for p in "${packages[@]}"; do dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p"); done
[ -z "$(command -v npm || true)" ] || missing=("${missing[@]/#npm}")
[ -z "$(command -v node || true)" ] || missing=("${missing[@]/#nodejs}")
wanted=(); for p in "${missing[@]}"; do [ -n "$p" ] && wanted+=("$p"); done
if [ ${#wanted[@]} -gt 0 ]; then
  as_root=(); [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -q --no-install-recommends "${wanted[@]}" >&2
fi
if [ "$judges" = yes ]; then
  venvs=${MD_VENVS:-$HOME/.cache/modeldoctor}
  if ! "$venvs/litert/bin/python" -c 'import ai_edge_litert, numpy' 2>/dev/null; then
    python3 -m venv "$venvs/litert"
    "$venvs/litert/bin/pip" install -q ai-edge-litert==2.3.0 numpy >&2
  fi
fi
