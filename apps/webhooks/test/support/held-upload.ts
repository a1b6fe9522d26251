import { once } from 'node:events'
import { request } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'

type Upload = {
  token: string
  body: Uint8Array
  /** How much of the body to send; the rest is never sent. */
  sendBytes: number
  /** If absent, the body is sent in chunks. */
  declaredBytes?: number
}

const PIECE_BYTES = 64 * 1024

/** An upload that sends a part of its body, as fast as the server takes it, and then stays open without an answer. */
export function heldUpload(url: string, { token, body, sendBytes, declaredBytes }: Upload) {
  const sending = request(url, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(declaredBytes === undefined
        ? { 'transfer-encoding': 'chunked' }
        : { 'content-length': String(declaredBytes) }),
    },
  })
  let takenBytes = 0
  const seen = { isAnswered: false }
  sending.once('response', () => (seen.isAnswered = true))
  sending.on('error', () => undefined)
  sending.flushHeaders()
  const send = async () => {
    while (takenBytes < sendBytes && !sending.destroyed) {
      const piece = body.subarray(takenBytes, Math.min(takenBytes + PIECE_BYTES, sendBytes))
      if (!sending.write(piece)) await once(sending, 'drain')
      takenBytes += piece.length
    }
  }
  void send().catch(() => undefined)
  return {
    seen,
    /** Bytes of the body that have left the client. */
    get takenBytes() {
      return takenBytes
    },
    async sent(): Promise<void> {
      while (takenBytes < sendBytes) await turn()
    },
    end: () => void sending.destroy(),
  }
}

export type HeldUpload = ReturnType<typeof heldUpload>
