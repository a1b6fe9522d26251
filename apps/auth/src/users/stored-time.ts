/**
 * A time read from JSON that PostgreSQL made. It keeps the text, because most times of a user are only shown again, and formatting a Date
 * takes longer than all other work between a row and its answer.
 */
export class StoredTime extends Date {
  readonly #text: string

  constructor(text: string) {
    super(text)
    this.#text = text
  }

  /** Cuts text such as `2026-02-01T12:00:00.123456+00:00` to milliseconds. Leaves other formats to Date. */
  override toISOString(): string {
    const text = this.#text
    return text[19] === '.' && text.length >= 29 && text.endsWith('+00:00')
      ? `${text.slice(0, 23)}Z`
      : super.toISOString()
  }
}
