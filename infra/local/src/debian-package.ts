import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPrograms } from './programs.js'
import { secondsSince } from './terminal.js'

interface DebianPackage {
  name: string
  /** The name that is shown while the package is being downloaded. */
  title: string
  /** If omitted, dependencies that the system lacks are unpacked as well. */
  alone?: boolean
  cacheDir: string
  env: NodeJS.ProcessEnv
  say: (text: string) => void
}

/**
 * Downloads the package $1 and unpacks it into the current folder. `alone` as $2 leaves out its dependencies. apt's own lists and cache
 * belong to root, and without the error mode, a failed update ends with status 0.
 */
const UNPACK = `
  mkdir -p apt/lists/partial apt/cache/archives/partial
  apt() {
    apt-get -o Dir::State::lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User=root \\
      -o Debug::NoLocking=1 -o APT::Update::Error-Mode=any "$@"
  }
  apt update
  names=$1
  if [ "$2" != alone ]; then
    plan=$(apt install -s --no-install-recommends "$1")
    names=$(echo "$plan" | sed -n 's/^Inst \\([^ ]*\\).*/\\1/p')
  fi
  apt download $names
  for file in *.deb; do dpkg-deb -x "$file" .; done
  rm -r apt *.deb`

/** Downloads a package of Debian or its relatives and unpacks it into the cache folder, without installing anything. */
export async function unpackPackage(wanted: DebianPackage): Promise<void> {
  const { name, title, alone = false, cacheDir, env, say } = wanted
  if (findPrograms(['apt-get'], env['PATH']).length === 0) throw new Error('not here')
  say(`  fetching ${title} with apt-get (nothing is installed in the system) …`)
  const startedAt = performance.now()
  const partial = `${cacheDir}.${process.pid}`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial, { recursive: true })
  try {
    const script = ['-ec', UNPACK, 'sh', name, alone ? 'alone' : '']
    await promisify(execFile)('/bin/sh', script, { cwd: partial, env })
    rmSync(cacheDir, { recursive: true, force: true })
    renameSync(partial, cacheDir)
  } catch (error) {
    if (!existsSync(cacheDir)) throw error // a parallel run may have been quicker
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
  say(`  ✓ ${title} unpacked (${secondsSince(startedAt)})`)
}

/** Returns the first of these programs in a folder with an unpacked package. */
export const unpackedProgram = (folder: string, names: readonly string[]): string | undefined =>
  findPrograms(names, join(folder, 'usr/bin'))[0]

/** Returns the environment in which a program of an unpacked package finds its libraries, in a folder such as x86_64-linux-gnu. */
export function unpackedEnvironment(folder: string): Record<string, string> {
  const libraries = join(folder, 'usr/lib')
  const folders = existsSync(libraries)
    ? readdirSync(libraries).filter((name) => name.endsWith('-linux-gnu'))
    : []
  return { LD_LIBRARY_PATH: folders.map((name) => join(libraries, name)).join(':') }
}
