import { ExitCode } from './exit-codes.js'

type Details = {
  /** What to do next, as a sentence or a command. */
  hint?: string | undefined
  cause?: unknown
}

/** An expected failure. Its message is for the person at the terminal and never contains a secret. */
export abstract class CliError extends Error {
  abstract readonly exitCode: number
  /** Stable code for `--json`. */
  abstract readonly code: string
  /** A command may replace this with better advice. */
  hint: string | undefined

  constructor(message: string, { hint, cause }: Details = {}) {
    super(message, { cause })
    this.name = new.target.name
    this.hint = hint
  }
}

export class UsageError extends CliError {
  readonly exitCode = ExitCode.usage
  readonly code = 'usage'
}

export class NotSignedInError extends CliError {
  readonly exitCode = ExitCode.notSignedIn
  readonly code = 'not_signed_in'
}

export class NetworkError extends CliError {
  readonly exitCode = ExitCode.network
  readonly code = 'network'
}

export class InterruptedError extends CliError {
  readonly exitCode = ExitCode.interrupted
  readonly code = 'interrupted'

  constructor() {
    super('Interrupted')
  }
}

/** The service refused the request. `code` is the service's own code, such as `not_found`. */
export class RefusedError extends CliError {
  readonly exitCode = ExitCode.refused

  constructor(
    readonly code: string,
    message: string,
    details?: Details,
  ) {
    super(message, details)
  }
}

/** The service asked to retry later, after `retryAfterSeconds`. */
export class RateLimitedError extends RefusedError {
  constructor(
    code: string,
    message: string,
    readonly retryAfterSeconds: number,
  ) {
    super(code, message, { hint: `Try again in ${retryAfterSeconds} s.` })
  }
}

/** The service failed (5xx), or something other than this service answered. The outcome of a write is then unknown. */
export class ServerFailureError extends CliError {
  readonly exitCode = ExitCode.serverFailure
  readonly code = 'server_failure'
}
