import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'

export interface GuardedOptions {
  command: string
  args: readonly string[]
  /** Signal that asks this program to stop in an orderly way. */
  stopSignal: 'INT' | 'TERM'
  /** Receives stdout and stderr, appended. */
  logFile: string
  cwd?: string
  env?: NodeJS.ProcessEnv
  uid?: number
  gid?: number
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface Guarded {
  /** The program itself, not the shell that guards it. */
  readonly pid: number
  readonly exited: Promise<Exit>
  /** False from the moment the program is gone. */
  readonly running: boolean
  /** Sends the stop signal and waits; after `timeoutMs` the program is killed. */
  stop(timeoutMs?: number): Promise<Exit>
  /** Sends any signal to the program alone, for tests of crashes. */
  kill(signal: NodeJS.Signals): void
}

const DEFAULT_STOP_TIMEOUT_MS = 8_000

/*
 * The program runs under a shell which reads a pipe (fd 3) that only we hold. When we end in any way, kill -9
 * included, the pipe closes and the shell stops the program. fd 4 tells us the program's own pid. `read` is a shell
 * built-in, so killing the watcher leaves no helper process behind.
 */
const GUARD = `
sig=$1; shift
"$@" 3<&- 4>&- &
p=$!
echo $p >&4
exec 4>&-
(read -r _ <&3; kill -$sig $p) 2>/dev/null &
w=$!
trap '' INT TERM HUP
wait $p; c=$?
kill -9 $w 2>/dev/null
exit $c
`

/**
 * Starts a program that cannot outlive this process. It gets a session of its own, so Ctrl-C in a terminal reaches
 * only us and we decide the order of stopping. Resolves once the program has a pid.
 */
export async function startGuarded(options: GuardedOptions): Promise<Guarded> {
  const log = openSync(options.logFile, 'a', 0o600)
  let shell: ChildProcess
  try {
    shell = spawn('/bin/sh', ['-c', GUARD, 'guard', options.stopSignal, options.command, ...options.args], {
      cwd: options.cwd,
      env: options.env ?? process.env,
      uid: options.uid,
      gid: options.gid,
      detached: true,
      stdio: ['ignore', log, log, 'pipe', 'pipe'],
    })
  } finally {
    closeSync(log)
  }
  const lifeline = shell.stdio[3] as Writable
  lifeline.on('error', () => {}) // the shell may be gone already when we let go of the pipe
  let running = true
  const exited = new Promise<Exit>((resolve, reject) => {
    shell.once('error', reject)
    shell.once('exit', (code, signal) => {
      running = false
      lifeline.destroy()
      resolve(fromShell(code, signal))
    })
  })
  exited.catch(() => {}) // reported through the race below
  const pid = await Promise.race([pidOf(shell), exited.then(() => NaN)])
  if (Number.isNaN(pid)) throw new Error(`${options.command} could not be started`)
  const kill = (signal: NodeJS.Signals): void => {
    if (running) trySignal(pid, signal)
  }
  return {
    pid,
    exited,
    kill,
    get running() {
      return running
    },
    async stop(timeoutMs = DEFAULT_STOP_TIMEOUT_MS) {
      lifeline.end()
      const overdue = setTimeout(() => kill('SIGKILL'), timeoutMs)
      try {
        return await exited
      } finally {
        clearTimeout(overdue)
      }
    },
  }
}

const pidOf = async (shell: ChildProcess): Promise<number> =>
  Number.parseInt(await text(shell.stdio[4] as Readable), 10)

/** A shell reports "ended by signal N" as 128 + N. */
function fromShell(code: number | null, signal: NodeJS.Signals | null): Exit {
  if (code === 137) return { code: null, signal: 'SIGKILL' }
  if (code === 143) return { code: null, signal: 'SIGTERM' }
  if (code === 130) return { code: null, signal: 'SIGINT' }
  return { code, signal }
}

function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
