import Transport from 'winston-transport'
import { LineBatch } from './line-batch.js'

/** The key under which winston stores the finished line of a record. */
export const LINE = Symbol.for('message')
type Finished = { readonly [LINE]: string }

/** A winston transport that passes on each line unchanged, for tests. */
export class LineTransport extends Transport {
  constructor(private readonly handOn: (line: string) => void) {
    super()
  }

  override log(record: Finished, done: () => void): void {
    this.handOn(record[LINE])
    done()
  }
}

/** A winston transport that writes the lines of one turn of the event loop together (decision 0151). */
export class BatchTransport extends LineTransport {
  readonly #batch: LineBatch

  constructor(write: (text: string) => void) {
    const batch = new LineBatch((text) => write(`${text}\n`))
    super((line) => batch.add(line))
    this.#batch = batch
  }

  override _final(done: () => void): void {
    this.#batch.close()
    done()
  }
}
