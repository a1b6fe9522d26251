/**
 * Gathers the lines of one turn of the event loop and writes them in one go: a busy server logs several requests in a
 * turn, and each write is a system call. What was gathered is also written when the process exits, so that no line of
 * a crash is lost.
 */
export class LineBatch {
  #lines: string[] = []
  readonly #writeNow = () => this.flush()

  constructor(private readonly write: (text: string) => void) {
    process.once('exit', this.#writeNow)
  }

  add(line: string): void {
    if (this.#lines.length === 0) setImmediate(this.#writeNow)
    this.#lines.push(line)
  }

  flush(): void {
    if (this.#lines.length === 0) return
    const text = this.#lines.join('\n')
    this.#lines = []
    this.write(text)
  }

  /** Writes what is left; nothing may be added any more. */
  close(): void {
    process.off('exit', this.#writeNow)
    this.flush()
  }
}
