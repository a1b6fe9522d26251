/** Shorter chunks are copied into shared blocks. */
const SHORT_BYTES = 1024
const BLOCK_BYTES = 8 * 1024

/**
 * The chunks of a body. A buffer takes about two hundred bytes in addition to its content, and clients choose the size of chunks. Short
 * chunks therefore share blocks, so that the memory used stays about as large as what has arrived.
 */
export class BodyChunks {
  #pieces: Buffer[] = []
  #block = Buffer.alloc(0)
  /** Start and end of the part of the block that is not in a piece yet. */
  #from = 0
  #to = 0

  /** How many buffers this keeps. */
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

  /** Returns the first `bytes` bytes, or fewer if not so many have arrived. */
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

  /** Makes a piece of the new part of the block. Later chunks are copied behind it. */
  #cut(): void {
    if (this.#to > this.#from) this.#pieces.push(this.#block.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}
