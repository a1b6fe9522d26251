import type { CliError } from '../errors.js'
import { paintFor, type Paint } from './style.js'
import { renderFields, renderTable, type Column } from './table.js'
import { printable, printableJson } from './text.js'

type Stream = NodeJS.WritableStream & { isTTY?: boolean; columns?: number }

type Options = {
  stdout: Stream
  stderr: Stream
  env: Readonly<Record<string, string | undefined>>
  json: boolean
}

/** Writes results to stdout and messages about them to stderr, so that a pipe carries only results. */
export class Output {
  readonly json: boolean
  /** For text on stdout. */
  readonly paint: Paint
  readonly #stdout: Stream
  readonly #stderr: Stream
  readonly #paintNotes: Paint

  constructor({ stdout, stderr, env, json }: Options) {
    this.json = json
    this.paint = paintFor(stdout, env)
    this.#stdout = stdout
    this.#stderr = stderr
    this.#paintNotes = paintFor(stderr, env)
  }

  /** Whether messages go to a person at a terminal. */
  get isSeen(): boolean {
    return this.#stderr.isTTY === true
  }

  /** Prints one result: the value itself for `--json`, otherwise its text. */
  result(value: unknown, text: (paint: Paint) => string): void {
    this.line(this.json ? printableJson(value, 2) : text(this.paint))
  }

  /** Prints a list of results: an array for `--json`, otherwise a table, or `whenEmpty` if there are none. */
  list<Row>(rows: readonly Row[], columns: readonly Column<Row>[], whenEmpty: string): void {
    if (this.json) return this.line(printableJson(rows, 2))
    if (rows.length === 0) return this.note(whenEmpty)
    const terminalWidth = this.#stdout.isTTY ? this.#stdout.columns : undefined
    this.line(renderTable(columns, rows, { paint: this.paint, terminalWidth }))
  }

  fields(value: unknown, fields: readonly (readonly [label: string, value: string])[]): void {
    this.result(value, (paint) => renderFields(fields, paint))
  }

  /** Prints one result of a stream: for `--json` as one line of JSON, otherwise as text. */
  streamed(value: unknown, text: (paint: Paint) => string): void {
    this.line(this.json ? printableJson(value) : text(this.paint))
  }

  /** Prints progress and advice for a person. Programs that asked for JSON do not get it. */
  note(text: string): void {
    if (!this.json) this.notice(text)
  }

  /** Prints a message even with `--json`, such as the address to open. */
  notice(text: string): void {
    this.#stderr.write(`${printable(text)}\n`)
  }

  warn(text: string): void {
    this.#stderr.write(`${this.#paintNotes('yellow', 'warning:')} ${printable(text)}\n`)
  }

  error(error: CliError): void {
    const { code, message, hint, exitCode } = error
    if (this.json) {
      const body = { error: { code, message, ...(hint === undefined ? {} : { hint }), exit_code: exitCode } }
      this.#stderr.write(`${printableJson(body)}\n`)
      return
    }
    this.#stderr.write(`${this.#paintNotes('red', 'error:')} ${printable(message)}\n`)
    if (hint !== undefined) this.#stderr.write(`${printable(hint)}\n`)
  }

  line(text: string): void {
    this.#stdout.write(`${text}\n`)
  }
}
