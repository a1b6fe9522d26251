import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

export const service = {
  name: 'signet-auth',
  version: manifest.version,
  description: 'Signet identity server',
} as const

/** Value of `component` in log lines. */
export const component = 'api'
