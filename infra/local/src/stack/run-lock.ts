import { takeLock } from '../../lock.mjs'

/**
 * Lets one stack at a time use the data of this tree: two would open the same Redis files, and `--reset` would wipe the
 * data under a running one. The lock stands outside the data, so that it survives a reset; one left by a process that is gone
 * is taken over.
 */
export function takeRunLock(file: string): () => void {
  const { release, owner } = takeLock(file)
  if (release) return release
  throw new Error(`npm start already runs in this folder (process ${owner}): stop it first.`)
}
