import type { Socket } from 'node:net'

/**
 * How many milliseconds each completed phase of opening a connection took, and the peer's address once it was reached. A connection to
 * a literal address has no `dns`.
 */
export type ConnectionPhases = { dns?: number; connect?: number; tls?: number; peer?: string }

const phasesOf = new WeakMap<object, ConnectionPhases>()
const peers = new WeakMap<object, string>()

/** The address that a connection leads to. Undefined for one through a proxy, whose socket leads to the proxy. */
export const peerOf = (connection: object): string | undefined => peers.get(connection)

/**
 * How long it took to open this connection, or to fail with this error. Only the first caller gets the phases: later exchanges on the
 * connection find it open.
 */
export function takeConnectionPhases(connectionOrError: object): ConnectionPhases | undefined {
  const phases = phasesOf.get(connectionOrError)
  phasesOf.delete(connectionOrError)
  return phases
}

let observer: ((phases: ConnectionPhases) => void) | undefined

/**
 * Dispatches a request and reports the phases of a connection opened for it, which are filled in as each phase ends. The client starts
 * to open that connection within `dispatch`, so the observer cannot see the connection of another request.
 */
export function observeConnection(onOpening: (phases: ConnectionPhases) => void, dispatch: () => void): void {
  observer = onOpening
  try {
    dispatch()
  } finally {
    observer = undefined
  }
}

/** Times a connection that is being opened. Call the returned function when opening ends, with the connection or the error. */
export function timeConnection(socket: Socket): (connectionOrError: object) => void {
  const phases: ConnectionPhases = {}
  observer?.(phases)
  let since = performance.now()
  const end = (phase: 'dns' | 'connect' | 'tls') => () => {
    const now = performance.now()
    phases[phase] = now - since
    since = now
  }
  // These listeners must run before the client's own, which write the first request at once.
  socket.prependOnceListener('lookup', end('dns'))
  socket.prependOnceListener('connect', end('connect'))
  socket.prependOnceListener('connect', () => {
    if (socket.remoteAddress !== undefined) phases.peer = socket.remoteAddress
  })
  socket.prependOnceListener('secureConnect', end('tls'))
  return (connectionOrError) => {
    phasesOf.set(connectionOrError, phases)
    if (phases.peer !== undefined) peers.set(connectionOrError, phases.peer)
  }
}
