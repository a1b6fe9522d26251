import { NetworkError } from '../errors.js'

const REASONS: ReadonlyMap<string, (host: string) => string> = new Map(
  Object.entries({
    ECONNREFUSED: (host) => `Nothing responds at ${host}`,
    ECONNRESET: (host) => `${host} closed the connection`,
    UND_ERR_SOCKET: (host) => `${host} closed the connection`,
    ENOTFOUND: (host) => `The name of ${host} cannot be resolved`,
    EAI_AGAIN: (host) => `The name of ${host} cannot be resolved at the moment`,
    ENETUNREACH: (host) => `${host} cannot be reached from this network`,
    EHOSTUNREACH: (host) => `${host} cannot be reached from this network`,
  }),
)
const CLOSED: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME/
const ADDRESS_HINT =
  'Check the address (--url or SIGNET_URL, --auth-url or SIGNET_AUTH_URL) and that the service runs.'

/** A failed `fetch` as a sentence. The cause is kept for debuggers but never printed. */
export function networkFailure(error: unknown, url: URL, timeoutMs: number): NetworkError {
  const { host } = url
  if (isTimeout(error)) {
    return new NetworkError(`${host} did not respond within ${Math.round(timeoutMs / 1000)} s`, {
      hint: 'Try again later. If it keeps failing, check the address and your network.',
      cause: error,
    })
  }
  const code = causeCode(error)
  if (CERTIFICATE.test(code)) {
    return new NetworkError(`The certificate of ${host} is not trusted (${code})`, {
      hint: 'For a private certificate authority, set NODE_EXTRA_CA_CERTS to its certificate file.',
      cause: error,
    })
  }
  const reason =
    REASONS.get(code)?.(host) ?? `The connection to ${host} failed${code === '' ? '' : ` (${code})`}`
  return new NetworkError(reason, { hint: ADDRESS_HINT, cause: error })
}

/** Whether a `fetch` failed because the server closed the connection. */
export const wasClosed = (error: unknown): boolean => CLOSED.has(causeCode(error))

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'TimeoutError' || /TIMEDOUT|TIMEOUT/.test(causeCode(error)))

/** fetch hides the reason one or two causes down; with several addresses it is an AggregateError. */
function causeCode(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code } = current as { code?: unknown }
    if (typeof code === 'string') return code
    if (current instanceof AggregateError) return causeCode(current.errors[0])
  }
  return ''
}
