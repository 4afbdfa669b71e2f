#!/usr/bin/env bash
# What is to be measured on a GPU, the shortest and most wanted first, for a machine that is lent by
# the minute. Each part writes to the folder as it goes, and a part that fails does not stop the rest.
#
# Usage:  bash benchmarks/on_a_gpu.sh FOLDER [CORPUS [DATA_DIR]]    (default corpus: multi30k)
# Time:      an H200 took 41 seconds for the tests, 85 for the ladder, about 120 for the curves; the
#            peers take more than 155, mostly to compile, so they come last.
set -uo pipefail
out=${1:?a folder for the results}
data=(--data "${2:-multi30k}" ${3:+--data-dir "$3"})
cd "$(dirname "$0")/.."
if [ -d .venv/bin ]; then export PATH="$PWD/.venv/bin:$PATH"; fi
mkdir -p "$out"
annotated-transformer doctor --gpus 1 || exit 1

part() {  # NAME COMMAND...: its output goes to FOLDER/NAME.log
  echo "== $1" >&2
  "${@:2}" > >(tee "$out/$1.log") 2>&1 || echo "== $1 failed; see $out/$1.log" >&2
}

part tests python -m pytest -q -p no:cacheprovider tests/fast/test_on_gpu.py
part ladder annotated-transformer benchmark ladder --device cuda --rounds 3 --out "$out/ladder.jsonl"
part curves python benchmarks/loss_curves.py --device cuda "${data[@]}" \
  --out "$out/curves.jsonl"
part decoding annotated-transformer benchmark decoding --device cuda --rounds 3
part peers annotated-transformer benchmark training --device cuda --precisions bf16 \
  --peers torch marian --compile torch --rounds 5
