import type { Environment } from './settings.js'

/** The process around the program. Everything else is made from it. */
export type Host = {
  stdin: NodeJS.ReadStream
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  env: Environment
  /** From the first call on, Ctrl-C and termination abort this signal instead of ending the process at once. */
  interruption: () => AbortSignal
}

export function processHost(): Host {
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
        // once: a second Ctrl-C ends the process, whatever it is still tidying up.
        for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
          process.once(name, () => controller.abort())
        }
      }
      return controller.signal
    },
  }
}
