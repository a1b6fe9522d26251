import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import type { Writable } from 'node:stream'

export interface GuardedOptions {
  command: string
  args: readonly string[]
  /** Signal that asks this program to stop cleanly. */
  stopSignal: 'INT' | 'TERM'
  /** stdout and stderr are appended to this file. */
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

/** A child process that ends when this process ends. */
export type Guarded = Awaited<ReturnType<typeof startGuarded>>

/** `npm start` stops everything within ten seconds. */
const STOP_MS = 7_000

/*
 * The shell becomes the program, and leaves a watcher that reads a pipe (fd 3) of which only we hold the other end. When we end in any
 * way, even by kill -9, the pipe closes and the watcher stops the program. A line in the pipe says that the program is gone, because
 * its pid may belong to another one by then. The watcher is not a child of the program, which may wait for its children.
 */
const GUARD = `
sig=$1; shift
((read -r _ <&3 || kill -$sig $$) 2>/dev/null &)
exec "$@" 3<&-
`

/**
 * Starts a program that cannot outlive this process. It gets its own session, so that Ctrl-C in a terminal reaches only us and we
 * decide the order of stopping.
 */
export async function startGuarded({ command, args, stopSignal, logFile, ...place }: GuardedOptions) {
  const log = openSync(logFile, 'a', 0o600)
  const { size: before } = fstatSync(log)
  const child = spawn('/bin/sh', ['-c', GUARD, 'guard', stopSignal, command, ...args], {
    ...place,
    detached: true,
    stdio: ['ignore', log, log, 'pipe'],
  })
  closeSync(log)
  await once(child, 'spawn')
  const lifeline = child.stdio[3] as Writable
  lifeline.on('error', () => {}) // the watcher may be gone already
  const exited = once(child, 'exit').then(([code, signal]: (Exit['code'] | Exit['signal'])[]) => {
    if (lifeline.writable) lifeline.end('ended\n')
    return { code, signal } as Exit
  })
  return {
    pid: child.pid ?? NaN,
    exited,
    /** Everything that it has printed so far. */
    log: (): string => readFileSync(logFile).subarray(before).toString('utf8'),
    get running(): boolean {
      return child.exitCode === null && child.signalCode === null
    },
    /** Sends any signal to the program, for tests of crashes. */
    kill(signal: NodeJS.Signals): void {
      child.kill(signal)
    },
    /** Sends the stop signal and waits. Kills the program after `timeoutMs`. */
    async stop(timeoutMs = STOP_MS): Promise<Exit> {
      lifeline.end()
      const overdue = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
      return exited.finally(() => clearTimeout(overdue))
    },
  }
}
