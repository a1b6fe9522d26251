import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MUSL, familySync } from 'detect-libc'
import { findPrograms } from './programs.js'
import { noServer, type System, thisSystem } from './system.js'

export interface PostgresPrograms {
  postgres: string
  initdb: string
}

/** The oldest that has `nulls not distinct`, which a migration uses. */
const MINIMUM = 15
/** Where package managers keep one folder for each version, and where in it the programs are. */
const VERSION_FOLDERS: readonly (readonly [parent: string, version: RegExp, programs: string])[] = [
  ['/usr/libexec', /^postgresql\d+$/, ''],
  ['/usr/lib/postgresql', /^\d+$/, 'bin'],
  ['/usr', /^pgsql-\d+$/, 'bin'],
  ['/opt/homebrew/opt', /^postgresql@\d+$/, 'bin'],
  ['/usr/local/opt', /^postgresql@\d+$/, 'bin'],
  ['/opt/local/lib', /^postgresql\d+$/, 'bin'],
]

interface Search {
  env?: NodeJS.ProcessEnv
  folders?: readonly string[]
  system?: System
}

/** A PostgreSQL of this system, for where the embedded one does not run; throws what to do when there is none. */
export function installedPostgres({
  env = process.env,
  folders = versionFolders(),
  system = thisSystem(env),
}: Search = {}): PostgresPrograms {
  const found = findPrograms(['postgres'], env['PATH'], folders)
  for (const postgres of found) {
    const [initdb] = findPrograms(['initdb'], dirname(postgres))
    if (initdb && majorOf(postgres) >= MINIMUM) return { postgres, initdb }
  }
  const reason = familySync() === MUSL ? 'they need glibc, and this system has musl' : 'they do not run here'
  const tried = [
    `the embedded programs for ${process.platform}-${process.arch}: ${reason}`,
    `programs of this system of version ${MINIMUM} or newer: none (others: ${found.join(', ') || 'none'})`,
  ]
  const or = 'DATABASE_URL to a running server'
  throw noServer(system, { server: 'postgresql', name: 'PostgreSQL', tried, or })
}

/** The newest version first. */
function versionFolders(): string[] {
  const number = (name: string) => Number(/\d+$/.exec(name)?.[0])
  return VERSION_FOLDERS.flatMap(([parent, version, programs]) =>
    (existsSync(parent) ? readdirSync(parent) : [])
      .filter((name) => version.test(name))
      .sort((a, b) => number(b) - number(a))
      .map((name) => join(parent, name, programs)),
  )
}

function majorOf(postgres: string): number {
  const { stdout } = spawnSync(postgres, ['--version'], { encoding: 'utf8' })
  return Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1] ?? 0)
}
