/** Exit codes of `ops`. */
export const exitCode = { done: 0, failed: 1, usage: 2, nothing: 3, timeout: 4 } as const

/** Ends the command with a message for the operator and an exit code for scripts. */
export class OpsError extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
  ) {
    super(message)
    this.name = 'OpsError'
  }
}

export const usageError = (message: string) => new OpsError(exitCode.usage, message)
