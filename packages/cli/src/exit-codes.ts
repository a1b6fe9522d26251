/** Exit codes of the process. Scripts rely on these numbers; the README lists them. */
export const ExitCode = {
  ok: 0,
  /** The service understood the request and refused it: unknown id, quota, invalid value, sign-in denied. */
  refused: 1,
  /** The command line, a setting or the input was wrong; nothing was sent. */
  usage: 2,
  /** No token for this service, or one that is no longer valid. */
  notSignedIn: 3,
  /** No answer: a problem with the connection, the host name, the certificate or the time limit. */
  network: 4,
  /** The service itself failed, or something other than this service answered. */
  serverFailure: 5,
  /** A mistake in this program. */
  internal: 70,
  /** The output could not be written, for example because the disk is full. The same code as in sysexits.h. */
  output: 74,
  /** Interrupted with Ctrl-C. Shells use the same code (128 + SIGINT). */
  interrupted: 130,
} as const
