import { readdirSync, readFileSync } from 'node:fs'

const TICK_MS = 10
const PAGE_BYTES = 4096

/** The fields of /proc/<pid>/stat from the third on, or none if the process is gone. */
function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the process, in parentheses, may contain any character.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** CPU time of a process so far, in ms. `withReaped` adds that of the children it has waited for. */
export function cpuMsOf(pid: number, withReaped = false): number {
  const [user = 0, system = 0, reapedUser = 0, reapedSystem = 0] = statOf(pid).slice(11, 15).map(Number)
  return (user + system + (withReaped ? reapedUser + reapedSystem : 0)) * TICK_MS
}

/** CPU time of a process with its children so far, in ms: of a PostgreSQL server with all its backends. */
export function familyCpuMsOf(parent: number): number {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent)
  return cpuMsOf(parent, true) + children.reduce((sum, pid) => sum + cpuMsOf(pid), 0)
}

/** Memory of a process now, in MiB. */
export const memoryMibOf = (pid: number): number => (Number(statOf(pid)[21] ?? 0) * PAGE_BYTES) / 1024 / 1024

export const parentOf = (pid: number): number => Number(statOf(pid)[1] ?? 0)
