import type { Response } from 'express'

type Answer = Pick<Response, 'closed' | 'once' | 'off' | 'req'>

/**
 * Whether nobody will take any more of a response. One that waits for its turn behind another one of its connection is not closed
 * when that ends: only the connection tells.
 */
export const isGone = ({ closed, req }: Answer): boolean => closed || req.socket.destroyed

/** Calls `act` once, when the response is closed or its connection is, whichever comes first. */
export function onceGone(res: Answer, act: () => void): void {
  const { socket } = res.req
  const gone = () => {
    // A connection that is kept alive would otherwise collect one for each of its requests.
    res.off('close', gone)
    socket.off('close', gone)
    act()
  }
  // A client may let any number of requests wait on one connection, and that is no leak to warn about.
  socket.setMaxListeners(0)
  res.once('close', gone)
  socket.once('close', gone)
}
