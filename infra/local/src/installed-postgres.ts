import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findPrograms, noServer } from './programs.js'

/** The oldest that has `nulls not distinct`, which a migration uses, and one that is not out yet. */
const [MINIMUM, MAXIMUM] = [15, 30]

/** The folder of a PostgreSQL of this system, for where the embedded one does not run; throws what to do when there is none. */
export function installedPostgres({ path = process.env['PATH'], folders = usualFolders() } = {}): string {
  const found = findPrograms(['postgres'], path, folders)
  const usable = found.find(
    (postgres) => existsSync(join(dirname(postgres), 'initdb')) && majorOf(postgres) >= MINIMUM,
  )
  if (usable !== undefined) return dirname(usable)
  const tried = [
    `the embedded programs for ${process.platform}-${process.arch}: they need glibc, and do not run here`,
    `programs of this system of version ${MINIMUM} or newer: none (others: ${found.join(', ') || 'none'})`,
  ]
  const waysOut = [`install PostgreSQL ${MINIMUM} or newer`, 'set DATABASE_URL to a running server']
  throw noServer('PostgreSQL', tried, waysOut)
}

/** Where package managers keep a folder for each version. The newest version first. */
const usualFolders = (): string[] =>
  Array.from({ length: MAXIMUM - MINIMUM + 1 }, (_, index) => MAXIMUM - index).flatMap((version) => [
    ...[
      `/usr/libexec/postgresql${version}`,
      `/usr/lib/postgresql/${version}/bin`,
      `/usr/pgsql-${version}/bin`,
    ],
    ...[`/opt/homebrew/opt/postgresql@${version}/bin`, `/usr/local/opt/postgresql@${version}/bin`],
    `/opt/local/lib/postgresql${version}/bin`,
  ])

function majorOf(postgres: string): number {
  const { stdout } = spawnSync(postgres, ['--version'], { encoding: 'utf8' })
  return Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1] ?? 0)
}
