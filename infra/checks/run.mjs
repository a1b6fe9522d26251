// Commands that checks, tests and benches run once everything is installed.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { passTermination, root } from '../local/bootstrap.mjs'

/**
 * The flags of every jest run: ESM modules, without the warning about them, and a young generation in which the garbage of tests dies
 * (a fifteenth less processor time than with V8's sizes).
 */
export const jestCommand = [
  '--min-semi-space-size=16',
  '--max-semi-space-size=32',
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
]

/** Path of the command-line tool of an installed package, to run with this Node. */
export function tool(path) {
  return join(root, 'node_modules', path)
}

/**
 * Runs a command in the root folder and returns what it prints. With `show`, also prints it. With `inherit`, output goes to the
 * terminal instead, and with `inheritErrors`, only stderr does. Rejects only if the command cannot be started.
 */
export function run(command, args, { env = process.env, show, inherit, inheritErrors = inherit } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env,
      stdio: ['ignore', inherit ? 'inherit' : 'pipe', inheritErrors ? 'inherit' : 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output += text
        if (show) process.stdout.write(text)
      })
    }
    passTermination(child)
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ ok: code === 0, code, signal, output }))
  })
}

export const seconds = (startedAt) => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`
