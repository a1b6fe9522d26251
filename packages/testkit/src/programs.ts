import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The interpreter that has the clients of other people, where `npm run interop` fetched them. */
export const python = process.env['SIGNET_INTEROP_PYTHON'] ?? 'python3'

/** Only what was fetched before: tests make no requests to the internet. */
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

/** What a Python program prints; when it fails, that is the message. */
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
  /** In schemathesis.toml, in addition to what all runs share. */
  settings?: string
  /** Which operations. */
  selection: string[]
}

/** Few requests, the same each time. */
const SHARED = `
seed = 1
continue-on-failure = true

[generation]
max-examples = 15
`

/** Tries an API with what its document allows and with what it does not. Returns what schemathesis printed; throws it when an answer deviates. */
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
