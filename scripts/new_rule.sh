#!/usr/bin/env bash
# scripts/new_rule.sh LRT042 name-of-the-bad-pattern [family]: writes the template of a rule page to rules/FAMILY/.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: scripts/new_rule.sh ID name-of-the-bad-pattern [family, default litert]" >&2; exit 2; }
cd "$(dirname "$0")/.."
id=$1 name=$2 family=${3:-litert}
page="rules/$family/$id-$name.md"
if compgen -G "rules/*/$id-*.md" >/dev/null; then echo "$(compgen -G "rules/*/$id-*.md") exists already" >&2; exit 2; fi
mkdir -p "rules/$family"
cat >"$page" <<PAGE
# $id $name

\`\`\`json rule
{ "id": "$id", "severity": "fatal",
  "log": ["OP_NAME: the message, with {tensor:word} for what varies"],
  "runtimes": [{ "target": "litert-gpu", "fails": "*" }],
  "applicability": "safe", "exactness": "exact",
  "references": ["https://address-of-the-report"] }
\`\`\`

## What it means
What the user sees, in one sentence. Then what in the model it stands for.

## Why it happens
Which source code becomes this pattern, and why the runtime refuses it or gets it wrong.

## What the fix does
The replacement, and why it computes the same.

## When it is not safe
Values, types or shapes for which it differs, and what the rule does about them.

## At the source
The change in the PyTorch code, for people who can export again.

\`\`\`rewrite tflite
match {
  %y = OP_NAME(%x)
}
replace "what it becomes" {
  %y = RESHAPE(%x, const("i32", shape(%y)))
}
\`\`\`

\`\`\`model tflite fires
input %x : f32[1, 4]
%y = OP_NAME(%x) : f32[1, 4]
output %y
\`\`\`

\`\`\`model tflite declines
input %x : f32[1, 4]
%y = RELU(%x) : f32[1, 4]
output %y
\`\`\`

\`\`\`log fires
OP_NAME: the message, with tensor_7 for what varies
\`\`\`
PAGE
echo "$page"
