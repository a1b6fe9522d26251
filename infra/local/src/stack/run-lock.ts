import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Lets one stack at a time use the data of this tree: two would open the same Redis files, and `--reset` would wipe the
 * data under a running one. The lock stands outside the data, so that it survives a reset; one left by a process that is gone
 * is taken over.
 */
export function takeRunLock(file: string): () => void {
  mkdirSync(dirname(file), { recursive: true })
  const mine = `${file}.${process.pid}`
  writeFileSync(mine, String(process.pid))
  try {
    if (!tryLink(mine, file)) {
      const owner = ownerOf(file)
      if (owner !== null && isAlive(owner))
        throw new Error(`npm start already runs in this folder (process ${owner}): stop it first.`)
      rmSync(file, { force: true })
      if (!tryLink(mine, file)) throw new Error('npm start was called twice at the same moment: try again.')
    }
  } finally {
    rmSync(mine, { force: true })
  }
  return () => {
    if (ownerOf(file) === process.pid) rmSync(file, { force: true })
  }
}

// A link appears at once and with its content, or fails because somebody else was first.
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function ownerOf(file: string): number | null {
  try {
    return Number(readFileSync(file, 'utf8')) || null
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
