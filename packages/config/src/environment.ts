import { readFileSync } from 'node:fs'
import { parse } from 'dotenv'

/**
 * The process environment on top of the `.env` file in `directory`. The environment wins, and the file is optional.
 */
export function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  directory = '.',
): Record<string, string | undefined> {
  return { ...parse(readOptional(`${directory}/.env`)), ...env }
}

function readOptional(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}
