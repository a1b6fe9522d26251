import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MUSL, familySync } from 'detect-libc'
import { findPrograms, noServer, thisSystem } from './programs.js'

/** The oldest that has `nulls not distinct`, which a migration uses. */
const MINIMUM = 15
/** Where package managers keep a folder for each version, such as postgresql17, 17, pgsql-17 or postgresql@17. */
const PARENTS = [
  ...['/usr/libexec', '/usr/lib/postgresql', '/usr'],
  ...['/opt/homebrew/opt', '/usr/local/opt', '/opt/local/lib'],
]
const VERSION = /^(?:postgresql@?|pgsql-)?(\d+)$/

/** The folder of a PostgreSQL of this system, for where the embedded one does not run; throws what to do when there is none. */
export function installedPostgres({
  env = process.env,
  folders = versionFolders(),
  system = thisSystem(),
} = {}): string {
  const found = findPrograms(['postgres'], env['PATH'], folders)
  const usable = found.find(
    (postgres) => existsSync(join(dirname(postgres), 'initdb')) && majorOf(postgres) >= MINIMUM,
  )
  if (usable !== undefined) return dirname(usable)
  const reason = familySync() === MUSL ? 'they need glibc, and this system has musl' : 'they do not run here'
  const tried = [
    `the embedded programs for ${process.platform}-${process.arch}: ${reason}`,
    `programs of this system of version ${MINIMUM} or newer: none (others: ${found.join(', ') || 'none'})`,
  ]
  const or = 'DATABASE_URL to a running server'
  throw noServer(system, { server: 'postgresql', name: 'PostgreSQL', tried, or })
}

/** The newest version first. */
const versionFolders = (): string[] =>
  PARENTS.filter(existsSync)
    .flatMap((parent) => readdirSync(parent).map((name) => ({ parent, name, match: VERSION.exec(name) })))
    .filter(({ match }) => match !== null)
    .sort((a, b) => Number(b.match?.[1]) - Number(a.match?.[1]))
    .flatMap(({ parent, name }) => [join(parent, name, 'bin'), join(parent, name)])

function majorOf(postgres: string): number {
  const { stdout } = spawnSync(postgres, ['--version'], { encoding: 'utf8' })
  return Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1] ?? 0)
}
