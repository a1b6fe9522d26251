import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const { resolve } = createRequire(import.meta.url)
/** Inside this package, so that its dependencies resolve as an application's would, in a folder that no check reads as source. */
const DIST = fileURLToPath(new URL('../../dist/', import.meta.url))
const COMPILER_OPTIONS = [
  '--strict',
  '--ignoreConfig',
  '--skipLibCheck',
  ...['--module', 'nodenext'],
  ...['--target', 'es2023'],
  ...['--types', 'node'],
]

/**
 * Generates types from an OpenAPI document with openapi-typescript, compiles an application that imports them as `./api.js`, runs it,
 * and returns the JSON that it printed. Throws the output of a step that fails, such as the errors of the compiler.
 */
export async function runGeneratedClient(
  document: string,
  application: string,
  args: readonly string[],
): Promise<unknown> {
  const folder = mkdtempSync(join(DIST, '.generated-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
    writeFileSync(join(folder, 'application.ts'), application)
    const generator = join(dirname(resolve('openapi-typescript/package.json')), 'bin/cli.js')
    await node(folder, generator, document, '--output', 'api.ts')
    await node(
      folder,
      join(dirname(resolve('typescript-7/package.json')), 'bin/tsc'),
      ...COMPILER_OPTIONS,
      'application.ts',
    )
    return JSON.parse(await node(folder, 'application.js', ...args)) as unknown
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function node(cwd: string, ...args: string[]): Promise<string> {
  try {
    return (await promisify(execFile)(process.execPath, args, { cwd })).stdout
  } catch (error) {
    // The compiler reports on standard output, a program that fails on standard error.
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${stdout}${stderr}`, { cause: error })
  }
}
