// A lock that one process of this machine holds: a file with its pid. One left by a process that is gone is taken over.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Takes the lock and returns how to release it; when another process holds it, returns the `owner` instead. */
export function takeLock(file) {
  mkdirSync(dirname(file), { recursive: true })
  const release = () => {
    if (readOwner(file) === process.pid) rmSync(file, { force: true })
  }
  const mine = `${file}.${process.pid}`
  writeFileSync(mine, String(process.pid))
  try {
    if (tryLink(mine, file)) return { release }
    const owner = readOwner(file)
    if (owner !== null && isAlive(owner)) return { owner }
    removeStale(file, owner)
    return tryLink(mine, file) ? { release } : { owner: readOwner(file) }
  } finally {
    rmSync(mine, { force: true })
  }
}

/** Whether a process with this pid runs, even as another user. */
export function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

// A link appears at once and with its content, or fails because another process was first.
function tryLink(from, to) {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function removeStale(file, owner) {
  const aside = `${file}.${process.pid}.stale`
  try {
    renameSync(file, aside)
    // Another process may have cleaned up and taken the lock since we looked: then give it back.
    if (readOwner(aside) !== owner) linkSync(aside, file)
  } catch {
    // Lost the race for the clean-up, which is as good as winning it.
  } finally {
    rmSync(aside, { force: true })
  }
}

function readOwner(file) {
  try {
    return Number(readFileSync(file, 'utf8')) || null
  } catch {
    return null
  }
}
