import { readFileSync } from 'node:fs'
import { parse } from 'dotenv'

/**
 * The process environment laid over the file `.env` in `directory`: the environment wins, a missing file is fine
 * (auth contract section 11, webhooks contract G.3).
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
