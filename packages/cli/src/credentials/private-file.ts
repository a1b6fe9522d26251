import { randomBytes } from 'node:crypto'
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const OWNER_ONLY_FILE = 0o600
const OWNER_ONLY_FOLDER = 0o700
const OTHERS = 0o077

/** Returns the text of the file, or null if it does not exist. */
export async function readPrivateFile(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Whether anyone but the owner could read or change the file. Windows has no such bits. */
export async function isOpenToOthers(path: string): Promise<boolean> {
  if (process.platform === 'win32') return false
  const { mode } = await stat(path)
  return (mode & OTHERS) !== 0
}

export const closeToOthers = (path: string): Promise<void> => chmod(path, OWNER_ONLY_FILE)

/**
 * Replaces the file in one step: a reader, or a crash, sees the old text or the new one. The text is only ever in
 * files of mode 0600 inside a folder of mode 0700.
 */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true, mode: OWNER_ONLY_FOLDER })
  // mkdir does not change the mode of an existing folder.
  await chmod(folder, OWNER_ONLY_FOLDER)
  const draft = join(folder, `.${randomBytes(8).toString('hex')}.tmp`)
  try {
    // wx: never write through a file or link that another user put there.
    const file = await open(draft, 'wx', OWNER_ONLY_FILE)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
