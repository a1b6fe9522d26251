export const SECOND_MS = 1000
export const INTERVAL_MS = 10 * SECOND_MS
export const INACTIVITY_MS = 3600 * SECOND_MS

/** The `counter`-th refresh token of the session that was opened as the `line`-th. */
export type Token = { readonly line: number; readonly counter: number }
type Line = {
  counter: number
  openedAt: number
  movedAt: number
  strong: boolean
  /** Why it is over, in the words of the `sessions` table. */
  end: string | null
  /** When its tokens were superseded, the newest first: by the last exchange, and by upgrades since. */
  supersededAt: number[]
}
/** Soft-deleted, which keeps the rows, or permanently deleted. */
export type Bar = 'banned' | 'deleted' | 'erased' | null
/** Settings of a server. */
export type Limits = { timeboxMs: number; single: boolean }
/** What a request comes to: a token, a plain success, or the code of a refusal. */
export type Outcome = Token | 'ok' | (string & {})

/** What a refresh comes to in a session that ended for this. */
const REFUSED: Readonly<Record<string, Outcome>> = {
  reuse: 'refresh_token_already_used',
  single_session: 'session_expired',
}

/** Everything about the sessions of one user. */
export class Model {
  now = 0
  barred: Bar = null
  codeUsedAt = NaN
  lines: Line[] = [{ counter: 0, openedAt: 0, movedAt: 0, strong: false, end: null, supersededAt: [] }]

  constructor(readonly limits: Limits) {}

  refresh({ line: number, counter }: Token): Outcome {
    const line = this.line(number)
    if (this.barred !== null) return this.barred === 'banned' ? 'user_banned' : 'refresh_token_not_found'
    if (line.end !== null) return REFUSED[line.end] ?? 'refresh_token_not_found'
    const supersededAt = line.supersededAt[line.counter - counter - 1] ?? -Infinity
    if (counter < line.counter && this.now - supersededAt > INTERVAL_MS) {
      line.end = 'reuse'
      return 'refresh_token_already_used'
    }
    if (this.#isExpired(line)) return 'session_expired'
    if (counter === line.counter)
      Object.assign(line, { counter: counter + 1, movedAt: this.now, supersededAt: [this.now] })
    return { line: number, counter: line.counter }
  }

  may(what: 'read' | 'change', number: number): Outcome {
    const line = this.line(number)
    if (this.barred !== null) return this.barred === 'banned' ? 'user_banned' : 'user_not_found'
    if (line.end !== null && !(what === 'read' && line.end === 'logout')) return 'session_not_found'
    return what === 'change' && this.#isExpired(line) ? 'session_expired' : 'ok'
  }

  signIn(): Outcome {
    if (this.barred !== null) return this.barred === 'banned' ? 'user_banned' : 'invalid_credentials'
    if (this.limits.single) this.#end('single_session', () => true)
    const { now } = this
    this.lines.push({ counter: 0, openedAt: now, movedAt: now, strong: false, end: null, supersededAt: [] })
    return { line: this.lines.length - 1, counter: 0 }
  }

  upgrade(number: number): Outcome {
    const refusal = this.may('change', number)
    if (refusal !== 'ok') return refusal
    if (this.codeUsedAt === this.now) return 'mfa_verification_failed'
    this.codeUsedAt = this.now
    return this.#raise(number)
  }

  /** With a recovery code, made just before. */
  recover(number: number): Outcome {
    const refusal = this.may('change', number)
    return refusal === 'ok' ? this.#raise(number) : refusal
  }

  #raise(number: number): Outcome {
    const line = this.line(number)
    const supersededAt = [this.now, ...line.supersededAt]
    Object.assign(line, { counter: line.counter + 1, movedAt: this.now, strong: true, supersededAt })
    this.#end('factor_verified', (other) => !other.strong)
    return { line: number, counter: line.counter }
  }

  logout(scope: 'global' | 'local' | 'others', number: number): Outcome {
    const own = this.line(number)
    const refusal = scope === 'local' && this.barred === null ? 'ok' : this.may('change', number)
    if (refusal !== 'ok') return refusal
    this.#end('logout', (line) => scope === 'global' || (line === own) === (scope === 'local'))
    return 'ok'
  }

  bar(how: Bar): Outcome {
    if (this.barred === 'erased') return 'user_not_found'
    // Whoever is deleted stays so, whether or not they are also banned.
    if (this.barred === 'deleted' && how !== 'erased') return 'ok'
    this.barred = how
    if (how !== null) this.#end(how === 'banned' ? 'ban' : 'deletion', () => true)
    return 'ok'
  }

  line(number: number): Line {
    const line = this.lines[number]
    if (line === undefined) throw new Error('no such session')
    return line
  }

  clone(): Model {
    return Object.assign(new Model(this.limits), structuredClone({ ...this }))
  }

  #isExpired({ openedAt, movedAt }: Line): boolean {
    return this.now - movedAt > INACTIVITY_MS || this.now - openedAt > this.limits.timeboxMs
  }

  #end(reason: string, which: (line: Line) => boolean): void {
    for (const line of this.lines) if (line.end === null && which(line)) line.end = reason
  }
}
