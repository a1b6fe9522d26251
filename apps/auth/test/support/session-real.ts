import { expect } from '@jest/globals'
import { get, put, type ApiAnswer, type Json, type SignedUp } from './api.js'
import { factorSteps, type Enrolled } from './factors.js'
import type { TestServer } from './server.js'
import { cloneOf, outcomeOf, type Bar, type Model, type Outcome, type Token } from './session-model.js'
import { claimsOf } from './tokens.js'

/** What the database says: what bars the user, and the counter and end of each session, by session id. */
export type Stored = { barred: Bar; sessions: ReadonlyMap<string, string> }

/** The model's user on a real server, and the tokens that the server issued. */
export class Real {
  readonly #texts = new Map<string, string>()
  readonly #access: string[] = []

  readonly steps: ReturnType<typeof factorSteps>

  constructor(
    readonly server: TestServer,
    readonly user: SignedUp,
    readonly factor: Enrolled,
  ) {
    this.steps = factorSteps(() => server)
    this.learn({ line: 0, counter: 0 }, user)
  }

  tokens(): Token[] {
    return [...this.#texts.keys()].map((key) => JSON.parse(key) as Token)
  }

  access(line: number): string {
    return this.#access[line] ?? ''
  }

  refresh(token: Token): Promise<ApiAnswer> {
    return this.steps.refresh(this.#texts.get(JSON.stringify(token)) ?? '')
  }

  /** The answer as an outcome. A token that was issued before must be the same again, and a new one must differ from all others. */
  outcome({ status, body }: ApiAnswer, expected: Outcome): Outcome {
    const text = body['refresh_token']
    const code = String(body['error_code'])
    // A deleted user's factor is gone too, and the server may look for the factor first.
    if (code === 'mfa_factor_not_found' && expected === 'user_not_found') return expected
    if (status >= 400) return code
    if (typeof text !== 'string') return 'ok'
    if (typeof expected !== 'object') return 'a token'
    const before = [...this.#texts].find(([, known]) => known === text)?.[0]
    const isNew = !this.#texts.has(JSON.stringify(expected))
    return before === (isNew ? undefined : JSON.stringify(expected)) ? expected : 'the wrong token'
  }

  learn(outcome: Outcome, body: Json): void {
    if (typeof outcome !== 'object') return
    this.#texts.set(JSON.stringify(outcome), String(body['refresh_token']))
    this.#access[outcome.line] = String(body['access_token'])
  }

  async stored(): Promise<Stored> {
    const { db } = this.server.context
    const { rows: users } = await db.query<{ barred: Bar }>(
      `select case when deleted_at is not null then 'deleted' when banned_until is not null then 'banned' end as barred
       from users where id = $1`,
      [this.user.user.id],
    )
    const { rows } = await db.query<{ id: string; counter: number; end: string | null }>(
      `select id, refresh_counter as counter, revoked_reason as end from sessions where user_id = $1`,
      [this.user.user.id],
    )
    return {
      barred: users[0] === undefined ? 'erased' : users[0].barred,
      sessions: new Map(rows.map(({ id, counter, end }) => [id, `${counter} ${end}`])),
    }
  }

  /** Saves the rows of the sessions; the returned function restores them. */
  async savepoint(): Promise<() => Promise<unknown>> {
    const { db } = this.server.context
    const { rows } = await db.query<{ row: object }>(
      'select to_jsonb(s) as row from sessions s where user_id = $1',
      [this.user.user.id],
    )
    const kept = JSON.stringify(rows.map(({ row }) => row))
    return () =>
      db.query(
        `update sessions s
         set refresh_counter = k.refresh_counter, refreshed_at = k.refreshed_at, superseded_at = k.superseded_at,
           revoked_at = k.revoked_at, revoked_reason = k.revoked_reason, updated_at = k.updated_at
         from jsonb_populate_recordset(null::sessions, $1) k where s.id = k.id`,
        [kept],
      )
  }
}

/** Whether the model agrees with the database. */
export const agrees = (
  model: Model,
  { barred, sessions }: Stored,
  access: (line: number) => string,
): boolean =>
  barred === model.barred &&
  sessions.size === (barred === 'erased' ? 0 : model.lines.length) &&
  (barred === 'erased' ||
    model.lines.every(
      ({ counter, end }, line) =>
        sessions.get(String(claimsOf(access(line))['session_id'])) === `${counter} ${end}`,
    ))

type Held = { token: Token; outcome: Outcome; isStored: boolean }

/**
 * Presents each refresh token ever issued, including the current ones, and does what access tokens may do. Compares what a refresh changes
 * and then undoes it, so that the run continues as if nothing had happened.
 */
export async function expectEqual(model: Model, real: Real): Promise<void> {
  const access = (line: number) => real.access(line)
  expect(agrees(model, await real.stored(), access)).toBe(true)
  const restore = await real.savepoint()
  const [expected, found]: [Held[], Held[]] = [[], []]
  // One after the other, because a busy machine is slow to open connections.
  for (const token of real.tokens()) {
    const after = cloneOf(model)
    const outcome = outcomeOf('refresh', after.refresh(token))
    const changes = JSON.stringify(after) !== JSON.stringify(model)
    expected.push({ token, outcome, isStored: true })
    const answered = real.outcome(await real.refresh(token), outcome)
    const isStored = !changes || agrees(after, await real.stored(), access)
    found.push({ token, outcome: answered, isStored })
    if (changes) await restore()
  }
  const told: Outcome[][] = []
  for (const line of model.lines.keys()) {
    const token = real.access(line)
    const answers = [
      await get(real.server, '/user', { token }),
      await put(real.server, '/user', {}, { token }),
    ]
    told.push(answers.map((answer) => real.outcome(answer, 'ok')))
  }
  expect({ tokens: found, told }).toEqual({
    tokens: expected,
    told: model.lines.map((line) => {
      const why = model.why(line)
      return [outcomeOf('read', why), outcomeOf('change', why)]
    }),
  })
}
