import { readFileSync } from 'node:fs'

const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** The published version, from package.json. */
export const VERSION = (manifest as { version: string }).version
