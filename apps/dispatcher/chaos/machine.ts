import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'

/** Parts of the machine that a run can have to itself, so that nobody else notices what happens to them. */
export type Part = 'disks' | 'network'

const DROP = 2
const PASS = 0
/** Loading from this address gives a classic BPF program a random number: SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h. */
const RANDOM = 0xffff_f000 + 56

type PartRules = {
  /** Flag of the program `unshare`. */
  flag: string
  /** Shell command that prepares a new part before anything else runs in it. */
  prepare: string
  /** Command that succeeds only if the part is available. */
  trial: readonly string[]
  lacking: string
}

const PARTS: { readonly [Name in Part]: PartRules } = {
  disks: {
    flag: '--mount',
    prepare: 'true',
    trial: ['mount', '-t', 'tmpfs', 'tmpfs', '/mnt'],
    lacking: 'needs the right to mount (CAP_SYS_ADMIN)',
  },
  network: {
    flag: '--net',
    prepare: 'ip link set lo up && tc qdisc add dev lo clsact',
    trial: ['tc', ...lossFilter(0.5)],
    lacking: 'needs ip, and tc with clsact and BPF filters',
  },
}
const NAMES: readonly Part[] = ['disks', 'network']

/** Environment variable that names the parts a run has to itself. */
const APART = 'SIGNET_CHAOS_APART'

export const isApart = (part: Part): boolean => (process.env[APART] ?? '').split(' ').includes(part)

/** Returns what this machine lacks to give the run this part to itself, or null. */
export function missingFor(part: Part): string | null {
  if (isApart(part)) return null
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux'
  return unshared([part], PARTS[part].trial, 'ignore') === 0 ? null : PARTS[part].lacking
}

/** Runs this program again with all available parts, and returns its exit code; null in the run that has them. */
export function runApart(): number | null {
  if (process.env[APART] !== undefined) return null
  const parts = NAMES.filter((part) => missingFor(part) === null)
  process.env[APART] = parts.join(' ')
  return parts.length === 0
    ? null
    : unshared(parts, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], 'inherit')
}

function unshared(parts: readonly Part[], command: readonly string[], stdio: 'ignore' | 'inherit'): number {
  const flags = parts.map((part) => PARTS[part].flag)
  const prepare = parts.map((part) => PARTS[part].prepare).join(' && ')
  const args = [...flags, 'sh', '-c', `${prepare} && exec "$@"`, 'sh', ...command]
  return spawnSync('unshare', args, { stdio }).status ?? 1
}

/** Drops this share of all packets between processes of this run; 0 ends it. */
export function losePackets(share: number): void {
  run('tc', 'filter', 'del', 'dev', 'lo', 'egress')
  if (share > 0) run('tc', ...lossFilter(share))
}

/** Loads a random number, and drops the packet when it is below the share of all numbers. */
function lossFilter(share: number): string[] {
  const limit = Math.min(Math.round(share * 2 ** 32), 2 ** 32 - 1)
  const program = `4,32 0 0 ${RANDOM},53 1 0 ${limit},6 0 0 ${DROP},6 0 0 ${PASS}`
  return ['filter', 'add', 'dev', 'lo', 'egress', 'bpf', 'da', 'bytecode', program]
}

const ROOM = '512m'

/** Makes a small disk that can become full. Without mounts of our own it is a folder, and never full. */
export function makeDisk(path: string): string {
  mkdirSync(path, { recursive: true })
  if (isApart('disks')) run('mount', '-t', 'tmpfs', '-o', `size=${ROOM},mode=711`, 'tmpfs', path)
  return path
}

/** Makes the disk full: no further block can be written, but existing ones can be read and overwritten. */
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
  if (isApart('disks')) run('umount', '--lazy', path)
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}
