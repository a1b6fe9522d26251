/** What the process ends with. Scripts rely on these numbers; the README lists them. */
export const ExitCode = {
  ok: 0,
  /** The service understood the request and refused it: unknown id, quota, invalid value, sign-in denied. */
  refused: 1,
  /** The command line, a setting or the input was wrong; nothing was sent. */
  usage: 2,
  /** No token for this service, or one that is no longer valid. */
  notSignedIn: 3,
  /** No answer: connection, name, certificate, time limit. */
  network: 4,
  /** An answer that is a failure of the service itself, or not one of this service at all. */
  serverFailure: 5,
  /** A mistake in this program. */
  internal: 70,
  /** The output could not be written: a full disk. As in sysexits.h. */
  output: 74,
  /** Ctrl-C, as shells count it (128 + SIGINT). */
  interrupted: 130,
} as const
