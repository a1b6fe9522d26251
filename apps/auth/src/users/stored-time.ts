/**
 * A time that was read from JSON of PostgreSQL. It remembers the text: nearly every time of a user is only shown again, and
 * writing a Date as text costs more than everything else on the way from a row to an answer.
 */
export class StoredTime extends Date {
  readonly #text: string

  constructor(text: string) {
    super(text)
    this.#text = text
  }

  /** `2026-02-01T12:00:00.123456+00:00`, cut to milliseconds; what looks different is left to Date. */
  override toISOString(): string {
    const text = this.#text
    return text[19] === '.' && text.length >= 29 && text.endsWith('+00:00')
      ? `${text.slice(0, 23)}Z`
      : super.toISOString()
  }
}
