// Resolves and loads modules in tests: those of the workspace from their TypeScript sources, and packages as Node finds them.
import { existsSync } from 'node:fs'
import { isTypeScript, toJavaScript } from './typescript.mjs'

const GLOBALS = new URL('globals.mjs', import.meta.url).href

export async function resolve(specifier, context, next) {
  if (specifier === '@jest/globals') return { url: GLOBALS, shortCircuit: true }
  const conditions = [...context.conditions, '@signet/source']
  const found =
    sourceBeside(specifier, context.parentURL) ?? (await next(specifier, { ...context, conditions }))
  // In watch mode, a file that runs again loads its modules again: what it imports inherits `?run=2`.
  const run = /\?run=\d+$/.exec(context.parentURL ?? '')?.[0]
  return run && isTypeScript(found.url) ? { ...found, url: `${found.url}${run}` } : found
}

/** Sources import each other as `x.js`, the file that they are compiled to. */
function sourceBeside(specifier, parentUrl = '') {
  if (!/^\.{1,2}\/.*\.js$/.test(specifier) || !isTypeScript(parentUrl)) return undefined
  const url = new URL(specifier.replace(/\.js$/, '.ts'), parentUrl)
  return existsSync(url) ? { url: url.href, shortCircuit: true } : undefined
}

export function load(url, context, next) {
  if (!isTypeScript(url)) return next(url, context)
  return { format: 'module', source: toJavaScript(url), shortCircuit: true }
}
