import { readFileSync } from 'node:fs'

const POLL_MS = 500

/**
 * npm does not forward every signal, and none when it is killed: once npm is gone, nobody needs this process.
 * npm is our parent or, where the shell it runs scripts with stays in between, the parent of that shell.
 */
export function whenNpmIsGone(then: () => void): void {
  const parent = process.ppid
  const shell = readProcess(parent)
  const npm = shell && /^(ba|da)?sh$/.test(shell.name) ? shell.parent : undefined
  const timer = setInterval(() => {
    const same = process.ppid === parent && (npm === undefined || readProcess(parent)?.parent === npm)
    if (same) return
    clearInterval(timer)
    then()
  }, POLL_MS)
  timer.unref()
}

/** Undefined where there is no /proc: then only our own parent is watched. */
function readProcess(pid: number): { name: string; parent: number } | undefined {
  try {
    const [, name = '', parent] =
      /^\d+ \((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? []
    return { name, parent: Number(parent) }
  } catch {
    return undefined
  }
}
