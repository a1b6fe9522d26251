import { ExitCode } from '../exit-codes.js'
import type { Environment } from './settings.js'

/** The process that runs the program. Everything else is built from it. */
export type Host = {
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  env: Environment
  /** From the first call on, Ctrl-C and termination abort this signal instead of ending the process at once. */
  interruption: () => AbortSignal
}

/** The host of the real process, whose streams can fail at any time. */
export type ProcessHost = Host & { outputFailed: (error: NodeJS.ErrnoException) => void }

export function processHost(): ProcessHost {
  const controller = new AbortController()
  let isListening = false
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    interruption() {
      if (!isListening) {
        isListening = true
        // `once`, so that a second Ctrl-C ends the process even while it is cleaning up.
        for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
          process.once(name, () => controller.abort())
        }
      }
      return controller.signal
    },
    outputFailed({ code = 'unknown error' }) {
      if (code !== 'EPIPE') {
        process.stderr.write(`error: The output cannot be written (${code})\n`)
        process.exit(ExitCode.output)
      }
      // `signet … | head` closes the pipe early, which is not a failure. A long-running command cleans up first.
      if (isListening) controller.abort()
      else process.exit(ExitCode.ok)
    },
  }
}
