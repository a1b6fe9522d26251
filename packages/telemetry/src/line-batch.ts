/**
 * Collects the lines of one turn of the event loop and writes them together: a busy server logs several requests per turn, and each
 * write is a system call. Also writes when the process exits, so that a crash loses no line.
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

  /** Writes the remaining lines. No line may be added afterwards. */
  close(): void {
    process.off('exit', this.#writeNow)
    this.flush()
  }
}
