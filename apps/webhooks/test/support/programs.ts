import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Programs in Python that use clients of other people. */
export const PYTHON_FOLDER = fileURLToPath(new URL('../interop/python', import.meta.url))
export const python = process.env['SIGNET_INTEROP_PYTHON'] ?? 'python3'

/** Only what was fetched before: a test asks nobody on the internet. */
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

/** A program that says a line of JSON, and goes on with the line that it is given; it ends with its input. */
export function talkTo<Said>(command: string, args: string[], cwd: string) {
  const child = spawn(command, args, { cwd, env: programEnv, stdio: ['pipe', 'pipe', 'pipe'] })
  let failures = ''
  child.stderr.on('data', (chunk: Buffer) => (failures += chunk.toString()))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const ask = async (line?: string): Promise<Said> => {
    if (line !== undefined) child.stdin.write(`${line}\n`)
    const next: IteratorResult<string, unknown> = await lines.next()
    if (next.done === true) throw new Error(`it ended: ${failures}`)
    return JSON.parse(next.value) as Said
  }
  return { ask, end: () => void child.stdin.end() }
}
