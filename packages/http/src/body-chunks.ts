/** Shorter chunks are copied together. */
const SHORT_BYTES = 1024
const BLOCK_BYTES = 8 * 1024

/**
 * The chunks of a body. A buffer costs about two hundred bytes besides its content, and clients choose how long chunks are, so short ones
 * share blocks: what is kept stays about as large as what has arrived.
 */
export class BodyChunks {
  #pieces: Buffer[] = []
  #block = Buffer.alloc(0)
  /** The part of the block that is in no piece yet. */
  #from = 0
  #to = 0

  /** How many buffers it keeps. */
  get pieces(): number {
    return this.#pieces.length + (this.#to > this.#from ? 1 : 0)
  }

  add(chunk: Buffer): void {
    // Most bodies are a single chunk.
    if (chunk.length >= SHORT_BYTES || this.pieces === 0) {
      this.#cut()
      this.#pieces.push(chunk)
      return
    }
    if (this.#to + chunk.length > this.#block.length) {
      this.#cut()
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      this.#from = 0
      this.#to = 0
    }
    this.#to += chunk.copy(this.#block, this.#to)
  }

  /** The first bytes, so many if they are there. */
  beginning(bytes: number): Buffer {
    this.#cut()
    return Buffer.concat(this.#pieces, Math.min(bytes, this.#length()))
  }

  all(): Buffer {
    this.#cut()
    const [only, second] = this.#pieces
    return only !== undefined && second === undefined ? only : Buffer.concat(this.#pieces)
  }

  clear(): void {
    this.#pieces = []
    this.#block = Buffer.alloc(0)
    this.#from = 0
    this.#to = 0
  }

  #length(): number {
    return this.#pieces.reduce((sum, { length }) => sum + length, 0)
  }

  /** Makes a piece of what is in the block. The next ones go into the rest of it. */
  #cut(): void {
    if (this.#to > this.#from) this.#pieces.push(this.#block.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}
