import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Host } from '../../src/command/host.js'
import { runProgram } from '../../src/run-program.js'

export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const BROWSER = fileURLToPath(new URL('browser.mjs', import.meta.url))
const TIME_LIMIT_MS = 120_000

export type Ended = { code: number | null; stdout: string; stderr: string }

/** A running command line. */
export type Running = {
  child: ChildProcess
  stdout: () => string
  stderr: () => string
  ended: Promise<Ended>
}

type StartOptions = { env?: Record<string, string | undefined>; input?: string }

/** The state of one computer: its own configuration folder, no keychain, and a browser without a window. */
export class Machine {
  readonly home = mkdtempSync(join(tmpdir(), 'signet-cli-'))
  readonly credentials = join(this.home, 'config', 'signet', 'credentials.json')

  constructor(private readonly env: Record<string, string> = {}) {}

  /** Starts the built program in a separate process, as an installed one runs. */
  start(args: readonly string[], { env = {}, input }: StartOptions = {}): Running {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: this.#environment(env),
      stdio: 'pipe',
      // Ends a command that hangs, so that the test fails and leaves no process behind.
      timeout: TIME_LIMIT_MS,
    })
    child.stdin.on('error', () => undefined)
    child.stdin.end(input ?? '')
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const ended = once(child, 'close').then(() => ({ code: child.exitCode, stdout, stderr }))
    return { child, stdout: () => stdout, stderr: () => stderr, ended }
  }

  /** Runs the program to its end in the process of the test, because starting a process takes longer than most commands. */
  async run(args: readonly string[], { env = {}, input = '' }: StartOptions = {}): Promise<Ended> {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() }
    streams.stdin.end(input)
    const printed = Promise.all([text(streams.stdout), text(streams.stderr)])
    const interruption = () => new AbortController().signal
    // Cast, because streams in memory lack what a terminal has.
    const code = await runProgram(
      { ...streams, env: this.#environment(env), interruption } as unknown as Host,
      args,
    )
    streams.stdout.end()
    streams.stderr.end()
    const [stdout, stderr] = await printed
    return { code, stdout, stderr }
  }

  #environment(more: Record<string, string | undefined>): Record<string, string | undefined> {
    return {
      PATH: process.env['PATH'],
      HOME: this.home,
      XDG_CONFIG_HOME: join(this.home, 'config'),
      SIGNET_CREDENTIAL_STORE: 'file',
      BROWSER,
      ...this.env,
      ...more,
    }
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}

/** The one JSON value on stdout. */
export function json<T>({ stdout, stderr }: Ended): T {
  try {
    return JSON.parse(stdout) as T
  } catch (cause) {
    throw new Error(`no JSON on stdout; stderr: ${stderr}`, { cause })
  }
}
