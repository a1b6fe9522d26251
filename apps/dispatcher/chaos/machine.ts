import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'

/** Set in a run that has mounts of its own. */
const APART = 'SIGNET_CHAOS_APART'

/** Null, or what this machine lacks to fill a disk without anybody else noticing. */
export function missingForDisks(): string | null {
  if (isApart()) return null
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux'
  const tried = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'])
  return tried.status === 0 ? null : 'needs the right to mount (CAP_SYS_ADMIN)'
}

/** Runs this program again with mounts of its own, which end with it; returns its exit code. */
export function runApart(): number {
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const env = { ...process.env, [APART]: '1' }
  return spawnSync('unshare', ['--mount', ...again], { stdio: 'inherit', env }).status ?? 1
}

export const isApart = (): boolean => process.env[APART] === '1'

const ROOM = '512m'

/** A small disk of its own, which can be full. Without mounts of our own it is a folder, and never full. */
export function makeDisk(path: string): string {
  mkdirSync(path, { recursive: true })
  if (isApart()) run('mount', '-t', 'tmpfs', '-o', `size=${ROOM},mode=711`, 'tmpfs', path)
  return path
}

/** No further block can be written; what is there can be read and overwritten. */
export function fillDisk(path: string): void {
  const [, used = ''] = execFileSync('df', ['--output=used', '--block-size=1K', path], {
    encoding: 'utf8',
  }).split('\n')
  run('mount', '-o', `remount,size=${used.trim()}k`, path)
}

export function makeRoom(path: string): void {
  run('mount', '-o', `remount,size=${ROOM}`, path)
}

export function removeDisk(path: string): void {
  if (isApart()) run('umount', '--lazy', path)
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}
