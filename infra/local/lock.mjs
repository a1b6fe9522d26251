// A lock that one process of this machine holds: a symbolic link to its pid, because a link appears with its content or fails when
// another process was first. One left by a process that is gone is taken over.
import { mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname } from 'node:path'

/** Takes the lock and returns how to release it; when another process holds it, returns the `owner` instead. */
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

/** Whether a process with this pid runs, even as another user. */
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
  // Another process may have taken it over since we looked: then give it back.
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
