#!/bin/sh
# programs.sh <dependencies> <folder>: the compiled files that each package of a folder made by dependencies.sh publishes, into another
# folder, so that a change of code leaves the layer with the dependencies as it is.
set -eu
dependencies=$1 out=$2

find "$dependencies" -name node_modules -prune -o -name package.json -print | while read -r manifest; do
  folder=$(dirname "${manifest#"$dependencies"/}")
  mkdir -p "$out/$folder"
  for file in $(node --print "(JSON.parse(fs.readFileSync('$manifest')).files ?? []).filter((file) => file[0] !== '!').join(' ')"); do
    cp -a "$folder/$file" "$out/$folder/"
  done
done
find "$out" -type f \( -name '*.d.ts' -o -name '*.d.ts.map' \) -exec rm {} +
