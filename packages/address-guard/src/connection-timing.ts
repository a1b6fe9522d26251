import type { Socket } from 'node:net'

/**
 * Milliseconds that the phases of opening a connection took, as far as they ended, and the address once it was reached. A literal
 * address has no `dns`.
 */
export type ConnectionPhases = { dns?: number; connect?: number; tls?: number; peer?: string }

const phasesOf = new WeakMap<object, ConnectionPhases>()

/**
 * How long it took to open this connection, or to fail with this error. Only the first caller gets it: exchanges on a connection
 * that was already open have no such phases.
 */
export function takeConnectionPhases(connectionOrError: object): ConnectionPhases | undefined {
  const phases = phasesOf.get(connectionOrError)
  phasesOf.delete(connectionOrError)
  return phases
}

let observer: ((phases: ConnectionPhases) => void) | undefined

/**
 * Dispatches a request and reports the phases of a connection opened for it; they are filled in as each phase ends. The client
 * starts to open it within this call, and reports it to nobody else before it is open.
 */
export function observeConnection(onOpening: (phases: ConnectionPhases) => void, dispatch: () => void): void {
  observer = onOpening
  try {
    dispatch()
  } finally {
    observer = undefined
  }
}

/** Times a connection that is just being opened. The returned function ends that, with the connection or the error. */
export function timeConnection(socket: Socket): (connectionOrError: object) => void {
  const phases: ConnectionPhases = {}
  observer?.(phases)
  let since = performance.now()
  const end = (phase: 'dns' | 'connect' | 'tls') => () => {
    const now = performance.now()
    phases[phase] = now - since
    since = now
  }
  // Before the client's own listeners, which write the first request at once.
  socket.prependOnceListener('lookup', end('dns'))
  socket.prependOnceListener('connect', end('connect'))
  socket.prependOnceListener('connect', () => {
    if (socket.remoteAddress !== undefined) phases.peer = socket.remoteAddress
  })
  socket.prependOnceListener('secureConnect', end('tls'))
  return (connectionOrError) => void phasesOf.set(connectionOrError, phases)
}
