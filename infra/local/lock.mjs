// A lock that one process of this machine holds. It is a symbolic link to the process's pid, because a link appears with its content,
// or fails if another process was first. If the process is gone, another one takes over the lock.
import { mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'

/** Takes the lock and returns a function to release it. If another process holds it, returns that process as `owner`. */
export function takeLock(file) {
  mkdirSync(dirname(file), { recursive: true })
  const release = () => {
    if (ownerOf(file) === process.pid) rmSync(file, { force: true })
  }
  if (tryLink(process.pid, file)) return { release }
  const owner = ownerOf(file)
  if (isAlive(owner)) return { owner }
  removeStale(file, owner)
  return tryLink(process.pid, file) ? { release } : { owner: ownerOf(file) }
}

/** Returns whether a process with this pid is running, even as another user. */
export function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function removeStale(file, owner) {
  const aside = `${file}.${process.pid}`
  try {
    renameSync(file, aside)
  } catch {
    return // another process was first
  }
  const moved = ownerOf(aside)
  rmSync(aside)
  // Another process may have taken it over since the check. In that case, give it back.
  if (moved !== owner) tryLink(moved, file)
}

function tryLink(pid, file) {
  try {
    symlinkSync(String(pid), file)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function ownerOf(file) {
  try {
    return Number(readlinkSync(file))
  } catch {
    return null
  }
}
