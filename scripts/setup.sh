#!/usr/bin/env bash
# Installs what the build needs from Debian, and with --judges the real runtimes that the tests ask (in a virtual
# environment under ${MD_VENVS:-$HOME/.cache/modeldoctor}). Safe to run again: it only installs what is missing.
set -euo pipefail
packages=(cmake ninja-build g++ ccache pkg-config libcli11-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev
  libflatbuffers-dev flatbuffers-compiler libexpected-dev libeigen3-dev libzip-dev libssl-dev catch2 clang-format python3-venv)
judges=no
[ "${1:-}" = --judges ] && judges=yes && packages+=(chromium libvulkan1 nodejs npm libonnx-testdata)
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
  if ! "$venvs/onnx/bin/python" -c 'import onnx, onnxruntime, numpy' 2>/dev/null; then
    python3 -m venv "$venvs/onnx"
    "$venvs/onnx/bin/pip" install -q onnx==1.23.2 onnxruntime==1.32.0 numpy ml_dtypes >&2
  fi
  if ! "$venvs/litert/bin/python" -c 'import ai_edge_litert, flatbuffers, numpy' 2>/dev/null; then
    python3 -m venv "$venvs/litert"
    "$venvs/litert/bin/pip" install -q ai-edge-litert==2.3.0 numpy >&2
  fi
  # torch first and alone, in its CPU build: a plain torch brings gigabytes of CUDA. Two environments, because the pins of
  # executorch and litert-torch do not agree. The pins behind them keep pip from searching for minutes.
  torch_environment() {
    local name=$1 module=$2
    shift 2
    "$venvs/$name/bin/python" -c "import torch, $module" 2>/dev/null && return
    python3 -m venv "$venvs/$name" || return
    local pip=("$venvs/$name/bin/pip" install -q)
    { "${pip[@]}" torch==2.13.0+cpu || "${pip[@]}" torch==2.13.0+cpu --extra-index-url https://download.pytorch.org/whl/cpu; } >&2 &&
      "${pip[@]}" "$@" >&2
  }
  # Without an environment its judge is skipped and says so, and the rest is not held up. In CI nothing may be skipped.
  not_installed() {
    case "${CI:-}" in
      "" | 0 | false | no) echo "setup: $1 could not be installed: its judge will be skipped" >&2 ;;
      *) echo "setup: $1 could not be installed, and CI is set: a judge that is not asked is a failure" >&2; exit 1 ;;
    esac
  }
  torch_environment executorch executorch executorch==1.5.1 torchao==0.18.0 coremltools==9.0 tosa-tools==2026.5.0 ||
    not_installed ExecuTorch
  torch_environment litert-torch litert_torch litert-torch==0.10.0 litert-converter==0.5.0 ai-edge-litert==2.3.0 \
    pydantic==2.11.10 pydantic_core==2.33.2 anyio==4.14.2 typing-inspection==0.4.2 typing_extensions==4.12.2 typer==0.29.2 ||
    not_installed litert-torch
  # Real models: those in MediaPipe's packages.
  mediapipe=()
  for name in face_detection face_mesh hands holistic objectron pose selfie_segmentation; do
    [ -e "$venvs/mediapipe/node_modules/@mediapipe/$name" ] || mediapipe+=("@mediapipe/$name")
  done
  mkdir -p "$venvs/mediapipe"
  [ ${#mediapipe[@]} = 0 ] ||
    npm install --prefix "$venvs/mediapipe" --no-audit --no-fund --ignore-scripts --silent "${mediapipe[@]}" >&2 ||
    not_installed "MediaPipe's packages of models (npm)"
fi
