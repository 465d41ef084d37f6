#!/usr/bin/env bash
# All of multi30k.toml in small, from texts to the table: multi30k-small.sh TEXTS RESULTS
set -euo pipefail
here="$(dirname "$0")"
python3 "$here/prepare-multi30k.py" --small "$1"
phrasescore experiment "$here/multi30k-small.toml" -o "$2" --jobs 2
