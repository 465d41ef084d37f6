#!/usr/bin/env bash
# Runs a small version of multi30k.toml, from texts to the table: multi30k-small.sh TEXTS RESULTS
set -euo pipefail
here="$(dirname "$0")"
python3 "$here/prepare-multi30k.py" --small "$1"
phrasescore experiment "$here/multi30k-small.toml" -o "$2" --jobs 2
