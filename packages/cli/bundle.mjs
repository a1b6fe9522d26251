// Bundles the program into one file, dist/signet.js, next to the licenses of everything in it. npm runs this before it packs, so that
// the package depends on nothing: `workspace:` and `catalog:` mean nothing outside this repository.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const folder = import.meta.dirname

const { metafile } = await build({
  absWorkingDir: folder,
  entryPoints: ['src/main.ts'],
  outfile: 'dist/signet.js',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  conditions: ['@signet/source'],
  // Native and optional, so it is loaded only if it is installed.
  external: ['@napi-rs/keyring'],
  // CommonJS modules in the bundle load Node's own modules with require.
  banner: {
    js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)",
  },
  metafile: true,
})

writeFileSync(join(folder, 'dist/THIRD-PARTY-NOTICES.txt'), foreignPackages(metafile).map(notice).join('\n'))

/** Returns the folders of third-party packages in the bundle. */
function foreignPackages({ inputs }) {
  const folders = Object.keys(inputs).flatMap(
    (path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  )
  return [...new Set(folders)].sort()
}

function notice(path) {
  const { name, version } = JSON.parse(readFileSync(join(folder, path, 'package.json'), 'utf8'))
  const file = readdirSync(join(folder, path)).find((one) => /^licen[cs]e/i.test(one))
  if (!file) throw new Error(`${name} has no license file`)
  return `${name} ${version}\n\n${readFileSync(join(folder, path, file), 'utf8').trim()}\n`
}
