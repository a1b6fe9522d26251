import { OAuthError } from './oauth-error.js'

/**
 * The parameters of an OAuth request. Empty values count as omitted (RFC 6749 section 3.1). Repeated ones stay visible, because most of
 * them are errors.
 */
export class Parameters {
  readonly #values: ReadonlyMap<string, readonly string[]>

  private constructor(pairs: Iterable<readonly [string, string]>) {
    const values = new Map<string, string[]>()
    for (const [name, value] of pairs) {
      if (value === '') continue
      const known = values.get(name)
      if (known) known.push(value)
      else values.set(name, [value])
    }
    this.#values = values
  }

  /** The query of a request target such as `/oauth/authorize?state=x`. */
  static fromQuery(target: string): Parameters {
    const start = target.indexOf('?')
    return new Parameters(new URLSearchParams(start === -1 ? '' : target.slice(start + 1)))
  }

  /** Takes a parsed form, in which a repeated field is an array. */
  static fromForm(form: Readonly<Record<string, unknown>>): Parameters {
    return new Parameters(
      Object.entries(form).flatMap(([name, value]) =>
        (Array.isArray(value) ? value : [value]).map((item) => [name, String(item)] as const),
      ),
    )
  }

  /** The first value. {@link refuseRepetition} rejects further ones. */
  get(name: string): string | undefined {
    return this.#values.get(name)?.[0]
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  isRepeated(name: string): boolean {
    return this.all(name).length > 1
  }

  /** Returns the value, or throws `invalid_request` that names the missing parameter. */
  require(name: string): string {
    const value = this.get(name)
    if (value === undefined) throw new OAuthError('invalid_request', `${name} is required`)
    return value
  }

  /** Throws `invalid_request` if any parameter except `resource` is repeated (RFC 6749 section 3.1, RFC 8707 section 2). */
  refuseRepetition(): void {
    const repeated = [...this.#values.keys()].find((name) => name !== 'resource' && this.isRepeated(name))
    if (repeated !== undefined)
      throw new OAuthError('invalid_request', `The parameter ${repeated.slice(0, 64)} is repeated`)
  }
}
