import type { Socket } from 'node:net'
import { InterimFilter } from './interim-responses.js'

/**
 * Limit on all bytes of one response. It includes interim responses, the reason phrase, chunk extensions and trailers, for which `undici`
 * has no limit. It is more than the head and the body that we accept can have.
 */
export const MAX_RESPONSE_BYTES = 64 * 1024

/**
 * The parser handles a piece to its end, even if its first field was already one too many, and creates an error for each further one.
 * Most responses are smaller than this.
 */
const PIECE_BYTES = 1024

type Readable = Pick<Socket, 'read' | 'destroyed' | 'destroy'>

/**
 * Puts a limit on what `undici` reads from a connection as one response, and leaves out interim responses. Call it whenever a
 * request is written to the connection.
 */
export function expectResponse(socket: Socket): void {
  let reader = readers.get(socket)
  if (!reader) {
    reader = new ResponseReader(socket)
    readers.set(socket, reader)
  }
  reader.expectResponse()
}

const readers = new WeakMap<Socket, ResponseReader>()

class ResponseTooLarge extends Error {
  readonly code = 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
}

/** Replaces the socket's `read`, which `undici` calls until it returns null. */
export class ResponseReader {
  readonly #interim = new InterimFilter()
  readonly #readAll: () => Buffer | null
  #unread: Buffer | null = null
  #bytes = 0

  constructor(private readonly socket: Readable) {
    this.#readAll = (socket.read as () => Buffer | null).bind(socket)
    socket.read = () => this.#read()
  }

  expectResponse(): void {
    this.#bytes = 0
    this.#interim.expectResponse()
  }

  #read(): Buffer | null {
    for (;;) {
      const piece = this.#nextPiece()
      if (piece === null) return null
      const final = this.#interim.take(piece)
      if (final !== null) return final
    }
  }

  #nextPiece(): Buffer | null {
    if (this.socket.destroyed) return (this.#unread = null)
    const unread = this.#unread ?? this.#readAll()
    if (unread === null) return null
    const piece = unread.subarray(0, PIECE_BYTES)
    this.#unread = piece.length < unread.length ? unread.subarray(piece.length) : null
    this.#bytes += piece.length
    if (this.#bytes <= MAX_RESPONSE_BYTES) return piece
    this.socket.destroy(new ResponseTooLarge())
    return (this.#unread = null)
  }
}
