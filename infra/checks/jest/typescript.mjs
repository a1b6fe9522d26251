// TypeScript to JavaScript for tests, with the way back from a line of one to a line of the other, which Node takes.
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
