// Compiles TypeScript for tests, with source maps, which Node applies to stack traces.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { transformSync } from '@swc/core'

const OPTIONS = {
  swcrc: false,
  configFile: false,
  jsc: {
    parser: { syntax: 'typescript' },
    target: 'es2023',
    experimental: { keepImportAttributes: true },
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
}

export const isTypeScript = (url) => /^file:.*\.ts(\?|$)/.test(url)

export function toJavaScript(url) {
  const filename = fileURLToPath(url)
  return transformSync(readFileSync(filename, 'utf8'), { ...OPTIONS, filename }).code
}
