import { createInterface, type Interface } from 'node:readline'
import { Writable } from 'node:stream'
import { InterruptedError, UsageError } from '../errors.js'
import { withoutMark } from './without-mark.js'

type Input = NodeJS.ReadableStream & { isTTY?: boolean }

/**
 * Asks a person at a terminal, or reads line by line from a pipe, so that a password manager can supply the password. Questions go to
 * stderr: stdout carries results only.
 */
export class Prompter {
  readonly #input: Input
  readonly #output: NodeJS.WritableStream
  #piped: { reader: Interface; lines: AsyncIterator<string> } | null = null

  constructor(input: Input, output: NodeJS.WritableStream) {
    this.#input = input
    this.#output = output
  }

  /** True when a person can be asked. */
  get isInteractive(): boolean {
    return this.#input.isTTY === true
  }

  /** Reads the next line. On a terminal, it is shown while it is typed. */
  ask(question: string): Promise<string> {
    return this.isInteractive ? this.#askTerminal(question, this.#output) : this.#nextLine(question)
  }

  /** Reads the next line. On a terminal, it is not shown. */
  async askSecret(question: string): Promise<string> {
    if (!this.isInteractive) return this.#nextLine(question)
    this.#output.write(question)
    try {
      // readline echoes through its output, so an output that discards everything hides the input but keeps line editing.
      return await this.#askTerminal('', new Writable({ write: (_chunk, _encoding, done) => done() }))
    } finally {
      this.#output.write('\n')
    }
  }

  /** Allows the process to end although a pipe is still open. */
  close(): void {
    this.#piped?.reader.close()
    this.#piped = null
  }

  #askTerminal(question: string, output: NodeJS.WritableStream): Promise<string> {
    const reader = createInterface({ input: this.#input, output, terminal: true, historySize: 0 })
    return new Promise<string>((resolve, reject) => {
      reader.on('SIGINT', () => reject(new InterruptedError()))
      reader.on('close', () => reject(new UsageError('The input ended before an answer was given')))
      reader.question(question, resolve)
    }).finally(() => reader.close())
  }

  async #nextLine(question: string): Promise<string> {
    const isFirst = this.#piped === null
    if (this.#piped === null) {
      const reader = createInterface({ input: this.#input, crlfDelay: Infinity })
      this.#piped = { reader, lines: reader[Symbol.asyncIterator]() }
    }
    const next = await this.#piped.lines.next()
    if (next.done)
      throw new UsageError(`The input ended before a line for “${question.replace(/:\s*$/, '')}”`)
    return isFirst ? withoutMark(next.value) : next.value
  }
}
