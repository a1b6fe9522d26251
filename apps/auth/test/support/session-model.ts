export const SECOND_MS = 1000
export const INTERVAL_MS = 10 * SECOND_MS
export const INACTIVITY_MS = 3600 * SECOND_MS

/** The `counter`-th refresh token of the `line`-th session. */
export type Token = { readonly line: number; readonly counter: number }
/** `deleted` means softly, which keeps the rows; `erased` means permanently. */
export type Bar = 'banned' | 'deleted' | 'erased' | null
/** Settings of a server. */
export type Limits = { timeboxMs: number; single: boolean }
/** Why a session is over, in the words of the `sessions` table, or why one that is not over refuses a request. */
export type Why = string

type Line = {
  counter: number
  openedAt: number
  movedAt: number
  strong: boolean
  end: Why | null
  /** When its tokens were superseded, the newest first: by the last exchange, and by upgrades since. */
  supersededAt: number[]
}

const NEW = { counter: -1, movedAt: 0, strong: false, end: null, supersededAt: [] }

/** What the model knows about the sessions of one user: which are live, their counters, and when those advanced. */
class Facts {
  now = 0
  barred: Bar = null
  codeUsedAt = NaN
  lines: Line[] = []

  line(number: number): Line {
    const line = this.lines[number]
    if (line === undefined) throw new Error('no such session')
    return line
  }

  protected advance(number: number, supersededAt: number[]): Token {
    const line = Object.assign(this.line(number), { movedAt: this.now, supersededAt })
    return { line: number, counter: (line.counter += 1) }
  }

  protected end(why: Why, which: (line: Line) => boolean = () => true): void {
    for (const line of this.lines) if (which(line)) line.end ??= why
  }
}

/** The rules. Each step returns the token that it issues, null if it issues none, or the reason why nothing happens. */
export class Model extends Facts {
  constructor(readonly limits: Limits) {
    super()
  }
  why({ end, movedAt, openedAt }: Line): Why | null {
    const isExpired = this.now - movedAt > INACTIVITY_MS || this.now - openedAt > this.limits.timeboxMs
    return this.barred ?? end ?? (isExpired ? 'expired' : null)
  }
  open(): Token | Why {
    if (this.barred !== null) return this.barred
    if (this.limits.single) this.end('single_session')
    this.lines.push({ ...NEW, openedAt: this.now })
    return this.advance(this.lines.length - 1, [])
  }
  refresh({ line: number, counter }: Token): Token | Why {
    const line = this.line(number)
    const supersededAt = line.supersededAt[line.counter - counter - 1] ?? -Infinity
    const isReuse = counter < line.counter && this.now - supersededAt > INTERVAL_MS
    if (isReuse && this.barred === null) line.end ??= 'reuse'
    if (counter === line.counter) return this.why(line) ?? this.advance(number, [this.now])
    return this.why(line) ?? { line: number, counter: line.counter }
  }
  upgrade(number: number): Token | Why {
    const line = this.line(number)
    const why = this.why(line)
    if (why !== null) return why
    line.strong = true
    this.end('factor_verified', (other) => !other.strong)
    return this.advance(number, [this.now, ...line.supersededAt])
  }
  logout(scope: 'global' | 'local' | 'others', number: number): Why | null {
    const own = this.line(number)
    const why = scope === 'local' ? this.barred : this.why(own)
    if (why !== null) return why
    this.end('logout', (line) => scope === 'global' || (line === own) === (scope === 'local'))
    return null
  }
  bar(how: Bar): Why | null {
    // Only a permanent deletion changes an account that was deleted softly.
    if (this.barred === 'deleted' && how === 'deleted') return null
    if (this.barred === 'erased' || (this.barred === 'deleted' && how !== 'erased')) return this.barred
    this.barred = how
    if (how !== null) this.end(how === 'banned' ? 'ban' : 'deletion')
    return null
  }
  /** Each code of an authenticator is accepted only once. */
  upgradeByCode(number: number): Token | Why {
    if (this.why(this.line(number)) === null && this.codeUsedAt === this.now) return 'code used'
    const result = this.upgrade(number)
    if (typeof result !== 'string') this.codeUsedAt = this.now
    return result
  }
}

export const cloneOf = (model: Model): Model =>
  Object.assign(new Model(model.limits), structuredClone({ ...model }))

/** The outcome of a request: a token, a plain success, or an error code. */
export type Outcome = Token | 'ok' | (string & {})
export type Asked = 'refresh' | 'sign in' | 'read' | 'change' | 'administer'

const GONE = { banned: 'user_banned', deleted: 'user_not_found', erased: 'user_not_found' }
const CHANGES = { ...GONE, expired: 'session_expired', 'code used': 'mfa_verification_failed' }
/** The error code for each reason; `other` is for reasons that are not listed. */
const WORDS: Record<Asked, Readonly<Record<string, Outcome>>> = {
  refresh: {
    banned: 'user_banned',
    reuse: 'refresh_token_already_used',
    single_session: 'session_expired',
    expired: 'session_expired',
    other: 'refresh_token_not_found',
  },
  'sign in': { banned: 'user_banned', other: 'invalid_credentials' },
  // The access token of a session that was logged out can still read the user.
  read: { ...GONE, logout: 'ok', expired: 'ok', other: 'session_not_found' },
  change: { ...CHANGES, other: 'session_not_found' },
  administer: GONE,
}
export const outcomeOf = (asked: Asked, result: Token | Why | null): Outcome =>
  typeof result === 'string' ? (WORDS[asked][result] ?? WORDS[asked]['other'] ?? result) : (result ?? 'ok')
