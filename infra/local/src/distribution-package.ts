import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findPrograms } from './programs.js'
import { secondsSince } from './terminal.js'

const runFile = promisify(execFile)

interface DistributionPackage {
  name: string
  /** The name shown while it is being fetched. */
  title: string
  /** Left out: with everything it needs and the system lacks. */
  alone?: boolean
  cacheDir: string
  env: NodeJS.ProcessEnv
  say: (text: string) => void
}

/**
 * What downloads the package $1 and unpacks it into the current folder, for package managers that hand out packages
 * without installing them. `alone` as $2 leaves out what the package needs. apt's own lists and cache belong to root.
 */
const SCRIPTS = {
  // Without the error mode a failed update ends with status 0.
  'apt-get': `
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
    rm -r apt *.deb`,
  dnf: `
    dnf -y download --resolve --destdir="$PWD" "$1"
    for file in *.rpm; do rpm2cpio "$file" | cpio -idm --quiet; done
    rm *.rpm`,
  // Signature, control data and content are three archives in one file, which tar reads as one.
  apk: `
    apk fetch --no-cache --recursive --output "$PWD" "$1"
    for file in *.apk; do tar -xzf "$file"; done
    rm *.apk`,
} as const

export type PackageManager = keyof typeof SCRIPTS

/** Fetches a package of the distribution and unpacks it into the cache folder, without installing anything. */
export async function unpackPackage(manager: PackageManager, wanted: DistributionPackage): Promise<void> {
  const { name, title, alone = false, cacheDir, env, say } = wanted
  say(`  fetching ${title} with ${manager} (nothing is installed in the system) …`)
  const startedAt = performance.now()
  const partial = `${cacheDir}.${process.pid}`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial, { recursive: true })
  try {
    const script = ['-ec', SCRIPTS[manager], 'sh', name, alone ? 'alone' : '']
    await runFile('/bin/sh', script, { cwd: partial, env })
    rmSync(cacheDir, { recursive: true, force: true })
    renameSync(partial, cacheDir)
  } catch (error) {
    if (!existsSync(cacheDir)) throw error // a parallel run may have been quicker
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
  say(`  ✓ ${title} unpacked (${secondsSince(startedAt)})`)
}

/** The first of these programs in a folder with an unpacked package. */
export const unpackedProgram = (folder: string, names: readonly string[]): string | undefined =>
  findPrograms(names, join(folder, 'usr/bin'))[0]

/** The variables with which a program of an unpacked package finds its libraries there, also in folders such as x86_64-linux-gnu. */
export function unpackedEnvironment(folder: string): Record<string, string> {
  const libraries = ['usr/lib64', 'lib64', 'usr/lib', 'lib']
    .map((base) => join(folder, base))
    .filter(existsSync)
  const multiArch = (base: string) => readdirSync(base).filter((name) => name.endsWith('-linux-gnu'))
  const folders = libraries.flatMap((base) => [...multiArch(base).map((name) => join(base, name)), base])
  return { LD_LIBRARY_PATH: folders.join(':') }
}

export function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message?: string }
  const lines = (stderr?.trim() || message || String(error)).trim().split('\n')
  return lines.at(-1) ?? ''
}
