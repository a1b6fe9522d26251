export const SECOND_MS = 1000
export const INTERVAL_MS = 10 * SECOND_MS
export const INACTIVITY_MS = 3600 * SECOND_MS

/** The `counter`-th refresh token of the session that was opened as the `line`-th. */
export type Token = { readonly line: number; readonly counter: number }
type Line = { counter: number; movedAt: number; strong: boolean; end: string | null }
/** What a request comes to: a token, a plain success, or the code of a refusal. */
export type Outcome = Token | 'ok' | (string & {})

/** All that there is to know about the sessions of one user. */
export class Model {
  now = 0
  barred: 'banned' | 'deleted' | null = null
  lines: Line[] = [{ counter: 0, movedAt: 0, strong: false, end: null }]

  refresh({ line: number, counter }: Token): Outcome {
    const line = this.line(number)
    if (this.barred !== null) return this.barred === 'banned' ? 'user_banned' : 'refresh_token_not_found'
    if (line.end !== null)
      return line.end === 'reuse' ? 'refresh_token_already_used' : 'refresh_token_not_found'
    const isPrevious = counter === line.counter - 1 && this.now - line.movedAt <= INTERVAL_MS
    if (counter < line.counter && !isPrevious) {
      line.end = 'reuse'
      return 'refresh_token_already_used'
    }
    if (this.now - line.movedAt > INACTIVITY_MS) return 'session_expired'
    if (counter === line.counter) Object.assign(line, { counter: counter + 1, movedAt: this.now })
    return { line: number, counter: counter + 1 }
  }

  may(what: 'read' | 'change', number: number): Outcome {
    const { end, movedAt } = this.line(number)
    if (this.barred !== null) return this.barred === 'banned' ? 'user_banned' : 'user_not_found'
    if (end !== null && !(what === 'read' && end === 'logout')) return 'session_not_found'
    return what === 'change' && this.now - movedAt > INACTIVITY_MS ? 'session_expired' : 'ok'
  }

  signIn(): Outcome {
    if (this.barred !== null) return this.barred === 'banned' ? 'user_banned' : 'invalid_credentials'
    this.lines.push({ counter: 0, movedAt: this.now, strong: false, end: null })
    return { line: this.lines.length - 1, counter: 0 }
  }

  upgrade(number: number): Outcome {
    const refusal = this.may('change', number)
    if (refusal !== 'ok') return refusal
    const line = this.line(number)
    Object.assign(line, { counter: line.counter + 1, movedAt: this.now, strong: true })
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

  bar(how: 'banned' | 'deleted' | null): Outcome {
    this.barred = how
    if (how !== null) this.#end(how, () => true)
    return 'ok'
  }

  line(number: number): Line {
    const line = this.lines[number]
    if (line === undefined) throw new Error('no such session')
    return line
  }

  clone(): Model {
    return Object.assign(new Model(), structuredClone({ ...this }))
  }

  #end(reason: string, which: (line: Line) => boolean): void {
    for (const line of this.lines) if (line.end === null && which(line)) line.end = reason
  }
}
