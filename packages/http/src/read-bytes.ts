import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import zlib from 'node:zlib'
import { BodyChunks } from './body-chunks.js'
import type { RequestEnd } from './request-end.js'

/** What has arrived of a body, decompressed. */
export type BodySoFar = {
  end: RequestEnd
  bytes: number
  /** The first bytes of it, so many if they have arrived. */
  beginning: (bytes: number) => Buffer
  /** Refuses the body while nothing of it arrives. */
  refuse: (error: Error) => void
}

type Options = {
  maxBytes: number
  end: RequestEnd
  /** Called with everything that arrives. Nothing more is read until the promise resolves; a rejection refuses the body. */
  makeRoom?: ((soFar: BodySoFar) => Promise<void> | undefined) | undefined
}

/** Reads a body whole. Errors say in their `type` what is wrong with it. */
export function readBytes(
  req: IncomingMessage,
  { maxBytes, end, makeRoom = () => undefined }: Options,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const decoder = decoderOf(req)
    const source: Readable = decoder ?? req
    const chunks = new BodyChunks()
    const beginning = (size: number) => chunks.beginning(size)
    let bytes = 0
    let compressedBytes = 0
    let isOver = false

    const stop = () => {
      isOver = true
      source.off('data', onData)
      if (decoder) req.unpipe()
      decoder?.destroy()
      // Takes the rest off the connection, so that the client gets to the answer, and its next request to us.
      req.resume()
    }
    const refuse = (error: Error) => {
      if (isOver) return
      stop()
      // A connection may outlive its request, and must not keep what nobody will use.
      chunks.clear()
      reject(error)
    }
    const refuseTooLarge = () => refuse(failure('entity.too.large'))
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) return refuseTooLarge()
      chunks.add(chunk)
      let room: Promise<void> | undefined
      try {
        room = makeRoom({ end, bytes, beginning, refuse })
      } catch (error) {
        // Thrown in a listener of the socket, it would end the process.
        return refuse(error as Error)
      }
      if (room === undefined) return
      source.pause()
      end.awaitsBody = false
      room.then(() => {
        end.awaitsBody = true
        if (!isOver) source.resume()
      }, refuse)
    }

    const abort = () => {
      // Also called when a request ends that was read long ago, where nobody needs an error with its stack.
      if (!isOver) refuse(failure('request.aborted'))
    }
    if (end.isGone) return abort()
    end.onceGone(abort)
    source.on('error', () => refuse(failure('encoding.malformed')))
    source.once('end', () => {
      if (isOver) return
      // Of these formats, only gzip's decoder minds what follows the end.
      if (decoder && decoder.bytesWritten < compressedBytes) return refuse(failure('encoding.malformed'))
      stop()
      resolve(chunks.all())
      // The request may go on for long, and must not keep what its handler drops.
      chunks.clear()
    })
    // Its length is known, and too large.
    if (!decoder && Number(req.headers['content-length'] ?? 0) > maxBytes) return refuseTooLarge()
    source.on('data', onData)
    if (!decoder) return
    req.on('data', (chunk: Buffer) => (compressedBytes += chunk.length))
    req.pipe(decoder)
  })
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

/** An error of a body, by its type. */
export const failure = (type: string) => Object.assign(new Error(type), { type })
