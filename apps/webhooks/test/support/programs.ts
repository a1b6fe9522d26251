import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { programEnv } from '@signet/testkit/programs'

/** Python programs that use third-party clients. */
export const PYTHON_FOLDER = fileURLToPath(new URL('../interop/python', import.meta.url))

/** Starts a program that prints a line of JSON, and continues with the line it gets. It ends when its input ends. */
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
