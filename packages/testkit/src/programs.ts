import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The interpreter that has the third-party clients, if `npm run interop` has fetched them. */
export const python = process.env['SIGNET_INTEROP_PYTHON'] ?? 'python3'

/** Programs use only what was fetched before, because tests make no requests to the internet. */
export const programEnv = {
  ...process.env,
  GOPROXY: 'off',
  GOTOOLCHAIN: 'local',
  AUTHLIB_INSECURE_TRANSPORT: '1',
}

export const succeeds = (command: string, args: string[], cwd?: string): boolean =>
  spawnSync(command, args, { cwd, env: programEnv }).status === 0

export const hasModules = (...modules: string[]): boolean =>
  succeeds(python, ['-c', modules.map((name) => `import ${name}`).join('; ')])

/** Runs a Python program and returns what it prints; if it fails, the error has that as its message. */
export async function runPython(args: string[], cwd: string): Promise<string> {
  try {
    return (await promisify(execFile)(python, args, { cwd, env: programEnv, maxBuffer: 64 * 1024 * 1024 }))
      .stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${stdout}${stderr}`, { cause: error })
  }
}

type Schemathesis = {
  /** An empty folder for its files. */
  folder: string
  /** The OpenAPI document. */
  document: string
  url: string
  token: string
  /** Settings in schemathesis.toml, in addition to those that all runs share. */
  settings?: string
  /** The arguments that select operations. */
  selection: string[]
}

/** Few requests, the same each time. */
const SHARED = `
seed = 1
continue-on-failure = true

[generation]
max-examples = 15
`

/**
 * Sends an API requests that its document allows, and others that it does not. Returns what schemathesis printed, or throws it if an
 * answer deviates from the document.
 */
export async function runSchemathesis({
  folder,
  document,
  url,
  token,
  settings = '',
  selection,
}: Schemathesis) {
  const file = join(folder, 'openapi.json')
  const config = join(folder, 'schemathesis.toml')
  writeFileSync(file, document)
  writeFileSync(config, `${SHARED}${settings}`)
  const command = ['-m', 'schemathesis.cli', '--config-file', config, '--no-color', 'run', file]
  const caller = ['--url', url, '--header', `Authorization: Bearer ${token}`]
  return runPython([...command, ...caller, ...selection], folder)
}
