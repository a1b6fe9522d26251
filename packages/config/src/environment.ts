import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse } from 'dotenv'
import { ConfigError } from './settings.js'

/**
 * The process environment on top of the `.env` file in `directory`. The environment wins, and the file is optional.
 */
export function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  directory = '.',
): Record<string, string | undefined> {
  return { ...readVariables(`${directory}/.env`), ...env }
}

/**
 * Reads a file of `NAME=value` lines; a missing file counts as empty. `util.parseEnv` would need no library, but in Node 20 and 22 it
 * joins an indented line, or one without `=`, to its neighbor, so that the setting is silently lost.
 */
export function readVariables(path: string): Record<string, string> {
  return parse(readOptional(path))
}

function readOptional(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return ''
    // Not every message names the file.
    throw new ConfigError([`${resolve(path)} cannot be read: ${message}`])
  }
}
