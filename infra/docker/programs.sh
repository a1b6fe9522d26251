#!/bin/sh
# programs.sh <folder>: adds to each package of a folder made by dependencies.sh the compiled files that it publishes.
set -eu
out=$1

find "$out" -name node_modules -prune -o -name package.json -print | while read -r manifest; do
  folder=$(dirname "${manifest#"$out"/}")
  for file in $(node --print "(JSON.parse(fs.readFileSync('$manifest')).files ?? []).join(' ')"); do
    cp -a "$folder/$file" "$out/$folder/"
  done
done
find "$out" -name node_modules -prune -o -type f \( -name '*.d.ts' -o -name '*.d.ts.map' \) -exec rm {} +
