import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import zlib from 'node:zlib'
import { BodyChunks } from './body-chunks.js'
import type { RequestEnd } from './request-end.js'

/** What has arrived of a body so far, decompressed. */
export type BodySoFar = {
  end: RequestEnd
  bytes: number
  /** Returns at most this many of the first bytes. */
  beginning: (bytes: number) => Buffer
  /** Refuses the body when no more of it is arriving. */
  refuse: (error: Error) => void
}

type Options = {
  maxBytes: number
  end: RequestEnd
  /** Called whenever something arrives. Reading pauses until the promise resolves; a rejection refuses the body. */
  makeRoom?: ((soFar: BodySoFar) => Promise<void> | undefined) | undefined
}

/** Reads a whole body. Rejects with an error whose `type` says what is wrong with the body. */
export function readBytes(req: IncomingMessage, options: Options): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    new BodyReader(req, options, { resolve, reject }).start()
  })
}

type Outcome = { resolve: (body: Buffer) => void; reject: (error: Error) => void }

class BodyReader {
  readonly #decoder: Decoder | undefined
  readonly #source: Readable
  readonly #chunks = new BodyChunks()
  #bytes = 0
  #compressedBytes = 0
  #isOver = false

  constructor(
    private readonly req: IncomingMessage,
    private readonly options: Options,
    private readonly outcome: Outcome,
  ) {
    this.#decoder = decoderOf(req)
    this.#source = this.#decoder ?? req
  }

  start(): void {
    const { end, maxBytes } = this.options
    if (end.isGone) return this.#abort()
    end.onceGone(this.#abort)
    this.#source.on('error', () => this.#refuse(failure('encoding.malformed')))
    this.#source.once('end', () => this.#complete())
    // The length is known before anything is read.
    if (!this.#decoder && Number(this.req.headers['content-length'] ?? 0) > maxBytes)
      return this.#refuseTooLarge()
    this.#source.on('data', this.#add)
    if (!this.#decoder) return
    this.req.on('data', (chunk: Buffer) => (this.#compressedBytes += chunk.length))
    this.req.pipe(this.#decoder)
  }

  readonly #add = (chunk: Buffer): void => {
    this.#bytes += chunk.length
    if (this.#bytes > this.options.maxBytes) return this.#refuseTooLarge()
    this.#chunks.add(chunk)
    try {
      const room = this.options.makeRoom?.(this.#soFar())
      if (room !== undefined) this.#pauseUntil(room)
    } catch (error) {
      // An error thrown in a socket's listener would end the process.
      this.#refuse(error as Error)
    }
  }

  #soFar(): BodySoFar {
    return {
      end: this.options.end,
      bytes: this.#bytes,
      beginning: (size) => this.#chunks.beginning(size),
      refuse: this.#refuse,
    }
  }

  #pauseUntil(room: Promise<void>): void {
    const { end } = this.options
    this.#source.pause()
    end.awaitsBody = false
    room.then(() => {
      end.awaitsBody = true
      if (!this.#isOver) this.#source.resume()
    }, this.#refuse)
  }

  #complete(): void {
    if (this.#isOver) return
    // Of the supported encodings, only gzip's decoder reports data after the end by itself.
    if (this.#decoder && this.#decoder.bytesWritten < this.#compressedBytes)
      return this.#refuse(failure('encoding.malformed'))
    this.#stop()
    this.outcome.resolve(this.#chunks.all())
    // The request may stay open for a long time, and must not keep alive what its handler drops.
    this.#chunks.clear()
  }

  #refuseTooLarge(): void {
    this.#refuse(failure('entity.too.large'))
  }

  readonly #refuse = (error: Error): void => {
    if (this.#isOver) return
    this.#stop()
    // A connection may outlive its request, and must not keep alive what nobody will use.
    this.#chunks.clear()
    this.outcome.reject(error)
  }

  readonly #abort = (): void => {
    // Also called at the end of a request that was read long ago, which does not need to create an error with a stack.
    if (!this.#isOver) this.#refuse(failure('request.aborted'))
  }

  #stop(): void {
    this.#isOver = true
    this.#source.off('data', this.#add)
    if (this.#decoder) this.req.unpipe()
    this.#decoder?.destroy()
    // Drains the connection, so that the client reads the answer and its next request reaches us.
    this.req.resume()
  }
}

function decoderOf(req: IncomingMessage): Decoder | undefined {
  const encoding = req.headers['content-encoding']?.toLowerCase() ?? 'identity'
  if (encoding === 'identity') return undefined
  const decoder = DECODERS.get(encoding)?.()
  if (decoder === undefined) throw failure('encoding.unsupported')
  return decoder
}

type Decoder = zlib.Gunzip | zlib.Inflate | zlib.BrotliDecompress

const DECODERS: ReadonlyMap<string, () => Decoder> = new Map(
  Object.entries({
    gzip: () => zlib.createGunzip(),
    deflate: () => zlib.createInflate(),
    br: () => zlib.createBrotliDecompress(),
  }),
)

/** An error about a body, identified by its `type`. */
export const failure = (type: string) => Object.assign(new Error(type), { type })
