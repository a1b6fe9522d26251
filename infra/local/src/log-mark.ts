import { readFileSync, statSync } from 'node:fs'

const LOG_TAIL_LINES = 15

/** Remembers how long a log was, to show later only what came since. */
export class LogMark {
  readonly #start: number

  constructor(readonly file: string) {
    this.#start = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  }

  /** The last lines. */
  read(): string {
    return this.#text().trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n')
  }

  /** Whether a JSON line names this port, as services do once they listen. */
  saysPort(port: string): boolean {
    return new RegExp(`"port":${port}\\b`).test(this.#text())
  }

  #text(): string {
    return readFileSync(this.file).subarray(this.#start).toString('utf8')
  }
}
