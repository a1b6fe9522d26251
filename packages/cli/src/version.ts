import { readFileSync } from 'node:fs'

const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** The version in package.json, which is the one that was published. */
export const VERSION = (manifest as { version: string }).version
