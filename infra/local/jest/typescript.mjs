// TypeScript to JavaScript for tests, and the way back from a line of one to a line of the other.
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
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
}

export const isTypeScript = (url) => /^file:.*\.ts(\?|$)/.test(url)

export function toJavaScript(url) {
  return transform(url, false).code
}

/** For `Error.prepareStackTrace`. Made when somebody reads a stack, which few tests do. */
export function stackInTypeScript(error, frames) {
  return [String(error), ...frames.map((frame) => `    at ${frameInTypeScript(frame)}`)].join('\n')
}

function frameInTypeScript(frame) {
  const url = frame.getFileName() ?? ''
  if (!isTypeScript(url)) return String(frame)
  const { fileName, lineNumber, columnNumber } = mapOf(url).findOrigin(
    frame.getLineNumber(),
    frame.getColumnNumber(),
  )
  if (fileName === undefined) return String(frame)
  return String(frame).replace(/file:[^)]*:\d+:\d+/, `${fileURLToPath(url)}:${lineNumber}:${columnNumber}`)
}

const maps = new Map()

function mapOf(url) {
  if (!maps.has(url)) maps.set(url, new SourceMap(JSON.parse(transform(url, true).map)))
  return maps.get(url)
}

function transform(url, sourceMaps) {
  const filename = fileURLToPath(url)
  return transformSync(readFileSync(filename, 'utf8'), { ...OPTIONS, filename, sourceMaps })
}
