import { readFile } from 'node:fs/promises'
import { UsageError } from '../errors.js'

/** A file that was named on the command line. */
export async function readNamedFile(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new UsageError(`${path} cannot be read (${code})`, { cause: error })
  }
}
