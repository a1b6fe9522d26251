import { expect } from '@jest/globals'
import type fc from 'fast-check'
import { call, get, PASSWORD, post, put, type ApiAnswer, type SignedUp } from './api.js'
import { factorSteps, type Enrolled } from './factors.js'
import type { TestServer } from './server.js'
import { INTERVAL_MS, SECOND_MS, type Bar, type Model, type Outcome, type Token } from './session-model.js'
import { claimsOf, serviceToken } from './tokens.js'

/** The user of a model on the server, and what was really handed out. */
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

  /** The answer as an outcome. A token that was handed out before has to be the same again, and a new one new. */
  outcome({ status, body }: ApiAnswer, expected: Outcome): Outcome {
    const text = body['refresh_token']
    const code = String(body['error_code'])
    // The factor goes with its user, and may be looked for before the user is.
    if (code === 'mfa_factor_not_found' && expected === 'user_not_found') return expected
    if (status >= 400) return code
    if (typeof text !== 'string') return 'ok'
    if (typeof expected !== 'object') return 'a token'
    const before = [...this.#texts].find(([, known]) => known === text)?.[0]
    const isNew = !this.#texts.has(JSON.stringify(expected))
    return before === (isNew ? undefined : JSON.stringify(expected)) ? expected : 'the wrong token'
  }

  learn(outcome: Outcome, body: Record<string, unknown>): void {
    if (typeof outcome !== 'object') return
    this.#texts.set(JSON.stringify(outcome), String(body['refresh_token']))
    this.#access[outcome.line] = String(body['access_token'])
  }
}

/** One request, about a token or session that was picked before: what it should come to, and the request itself. */
type Action = {
  name: string
  foresee: (model: Model) => Outcome
  ask: (real: Real) => Promise<ApiAnswer>
}
export type Choice = (model: Model) => Action

function pick<T>(all: readonly T[], which: number): T {
  const picked = all[which % all.length]
  if (picked === undefined) throw new Error('nothing to pick from')
  return picked
}

const presenting =
  (token: Token): Choice =>
  () => ({
    name: `refresh with token ${token.counter} of session ${token.line}`,
    foresee: (now) => now.refresh(token),
    ask: (real) => real.refresh(token),
  })

export const refreshing =
  (which: number): Choice =>
  (model) => {
    // The newest ones first, so that small numbers advance sessions.
    const ever = model.lines.flatMap(({ counter }, line) =>
      Array.from({ length: counter + 1 }, (_, age) => ({ line, counter: counter - age, age })),
    )
    const { line, counter } = pick(
      ever.sort((a, b) => a.age - b.age),
      which,
    )
    return presenting({ line, counter })(model)
  }

export const signingIn: Choice = () => ({
  name: 'sign in',
  foresee: (model) => model.signIn(),
  ask: ({ server, user }) =>
    post(server, '/token?grant_type=password', { email: user.email, password: PASSWORD }),
})

export const upgrading =
  (which: number): Choice =>
  (model) => {
    const line = which % model.lines.length
    return {
      name: `upgrade session ${line}`,
      foresee: (now) => now.upgrade(line),
      async ask(real) {
        const { server, steps } = real
        const token = real.access(line)
        const challenge = await post(server, `/factors/${real.factor.id}/challenge`, {}, { token })
        if (challenge.status !== 200) return challenge
        const answer = { challenge_id: challenge.body['id'], code: steps.codeOf(real.factor) }
        return steps.verify({ access_token: token }, real.factor.id, answer)
      },
    }
  }

/** A second proof of a session that has shown one: no time has to pass for it. */
const recovering =
  (line: number): Choice =>
  () => ({
    name: `show a recovery code in session ${line}`,
    foresee: (now) => now.recover(line),
    async ask(real) {
      const token = real.access(line)
      const made = await post(real.server, '/recovery-codes', {}, { token })
      const [code] = (made.body['codes'] ?? []) as string[]
      return code === undefined ? made : post(real.server, '/recovery-codes/verify', { code }, { token })
    },
  })

export const loggingOut =
  (which: number, scope: 'global' | 'local' | 'others'): Choice =>
  (model) => {
    const line = which % model.lines.length
    return {
      name: `log out ${scope} with session ${line}`,
      foresee: (now) => now.logout(scope, line),
      ask: (real) => post(real.server, `/logout?scope=${scope}`, undefined, { token: real.access(line) }),
    }
  }

export const barring =
  (how: Bar): Choice =>
  () => ({
    name: how ?? 'unban',
    foresee: (model) => model.bar(how),
    ask({ server, user }) {
      const path = `/admin/users/${user.user.id}`
      const token = serviceToken()
      return how === 'deleted' || how === 'erased'
        ? call(server, 'DELETE', path, { token, body: { should_soft_delete: how === 'deleted' } })
        : put(server, path, { ban_duration: how === null ? 'none' : '9000h' }, { token })
    },
  })

const move = (model: Model, { server }: Real, ms: number): void => {
  model.now += ms
  server.clock.advance(ms)
}

/** What the database says: what bars the user, and counter and end of each session, by its id. */
type Stored = { barred: Bar; sessions: ReadonlyMap<string, string> }

async function stored({ server, user }: Real): Promise<Stored> {
  const { db } = server.context
  const { rows: users } = await db.query<{ barred: Bar }>(
    `select case when deleted_at is not null then 'deleted' when banned_until is not null then 'banned' end as barred
     from users where id = $1`,
    [user.user.id],
  )
  const { rows } = await db.query<{ id: string; counter: number; end: string | null }>(
    `select id, refresh_counter as counter, revoked_reason as end from sessions where user_id = $1`,
    [user.user.id],
  )
  return {
    barred: users[0] === undefined ? 'erased' : users[0].barred,
    sessions: new Map(rows.map(({ id, counter, end }) => [id, `${counter} ${end}`])),
  }
}

/** Whether a model says the same as the database. */
const agrees = (model: Model, { barred, sessions }: Stored, access: (line: number) => string): boolean =>
  barred === model.barred &&
  sessions.size === (barred === 'erased' ? 0 : model.lines.length) &&
  (barred === 'erased' ||
    model.lines.every(
      ({ counter, end }, line) =>
        sessions.get(String(claimsOf(access(line))['session_id'])) === `${counter} ${end}`,
    ))

/** Tries each token that changes nothing when it is tried, and all that access tokens may do. */
async function expectEqual(model: Model, real: Real): Promise<void> {
  const { server } = real
  expect(agrees(model, await stored(real), (line) => real.access(line))).toBe(true)
  const foreseen = real.tokens().flatMap((token) => {
    const after = model.clone()
    const outcome = after.refresh(token)
    return JSON.stringify(after) === JSON.stringify(model) ? [{ token, outcome }] : []
  })
  // One after the other: a busy machine takes its time to open connections.
  const tokens: { token: Token; outcome: Outcome }[] = []
  for (const { token, outcome } of foreseen)
    tokens.push({ token, outcome: real.outcome(await real.refresh(token), outcome) })
  const lines = [...model.lines.keys()]
  const [read, changed]: [Outcome[], Outcome[]] = [[], []]
  for (const line of lines) {
    const token = real.access(line)
    read.push(real.outcome(await get(server, '/user', { token }), 'ok'))
    changed.push(real.outcome(await put(server, '/user', {}, { token }), 'ok'))
  }
  expect({ tokens, read, changed }).toEqual({
    tokens: foreseen,
    read: lines.map((line) => model.may('read', line)),
    changed: lines.map((line) => model.may('change', line)),
  })
}

/** One or two requests at a time. Two come to what one after the other would have, in one order or the other. */
export class Requests implements fc.AsyncCommand<Model, Real> {
  constructor(
    private readonly choices: readonly Choice[],
    private readonly name: string,
  ) {}

  check = ({ barred }: Readonly<Model>) => barred === null || (barred === 'banned' && this.name !== 'banned')

  async run(model: Model, real: Real): Promise<void> {
    // A code of an authenticator counts once in its thirty seconds.
    if (this.name.includes('upgrade')) move(model, real, 30 * SECOND_MS)
    const actions = this.choices.map((choose) => choose(model))
    const answers = await Promise.all(actions.map(({ ask }) => ask(real)))
    const found = await stored(real)
    const orders = [actions, [...actions].reverse()].map((order) => {
      const after = model.clone()
      const outcomes = new Map(order.map((action) => [action, action.foresee(after)]))
      return { after, outcomes: actions.map((action) => outcomes.get(action) ?? '') }
    })
    const told = answers.map((answer, index) => ({ answer, index }))
    const order = orders.find(({ after, outcomes }) => {
      const fits = told.every(({ answer, index }) => {
        const expected = outcomes[index] ?? ''
        return JSON.stringify(real.outcome(answer, expected)) === JSON.stringify(expected)
      })
      const access = new Map(
        told.flatMap(({ answer, index }) => {
          const outcome = outcomes[index]
          return typeof outcome === 'object' ? [[outcome.line, String(answer.body['access_token'])]] : []
        }),
      )
      return fits && agrees(after, found, (line) => access.get(line) ?? real.access(line))
    })
    if (order === undefined) {
      const said = answers.map(({ status, text }) => `${status} ${text.slice(0, 120)}`)
      const foreseen = JSON.stringify(
        orders.map(({ outcomes, after: { barred, lines } }) => ({ outcomes, barred, lines })),
      )
      throw new Error(
        `${actions.map(({ name }) => name).join(' beside ')} came to ${said.join(' and ')} with ${found.barred} and ${JSON.stringify([...found.sessions.values()])}, not to any of ${foreseen}`,
      )
    }
    Object.assign(model, order.after)
    order.outcomes.forEach((outcome, index) => real.learn(outcome, answers[index]?.body ?? {}))
    await expectEqual(model, real)
  }

  toString = () => this.name
}

export class ClockMove implements fc.AsyncCommand<Model, Real> {
  constructor(private readonly ms: number) {}
  check = () => true
  async run(model: Model, real: Real): Promise<void> {
    move(model, real, this.ms)
    await expectEqual(model, real)
  }
  toString = () => `${this.ms} ms pass`
}

/**
 * Goes to the corners that few random orders reach, whatever state they left: a token that comes back late, a second factor
 * in a session that ended for reuse, by a logout and by a ban, a ban from its beginning to its end, and two proofs in a row.
 */
export async function visitCorners(model: Model, real: Real): Promise<void> {
  const step = async (name: string, choice: Choice): Promise<void> => {
    const requests = new Requests([choice], name)
    if (requests.check(model)) await requests.run(model, real)
  }
  const first = model.lines.length
  await step('unban', barring(null))
  if (model.barred !== null) return
  await step('sign in', signingIn)
  await step('refresh', presenting({ line: first, counter: 0 }))
  await new ClockMove(INTERVAL_MS + 1).run(model, real)
  await step('refresh late', presenting({ line: first, counter: 0 }))
  await step('upgrade', upgrading(first))
  await step('sign in', signingIn)
  await step('sign in', signingIn)
  await step('log out', loggingOut(first + 2, 'others'))
  await step('upgrade', upgrading(first + 1))
  await step('banned', barring('banned'))
  await step('unban', barring(null))
  await step('upgrade', upgrading(first + 2))
  const beside = async (a: string, b: string, choices: readonly Choice[]): Promise<void> => {
    await new Requests(choices, `${a} beside ${b}`).run(model, real)
    await step('unban', barring(null))
  }
  await beside('banned', 'sign in', [barring('banned'), signingIn])
  await step('sign in', signingIn)
  await beside('upgrade', 'banned', [upgrading(model.lines.length - 1), barring('banned')])
  const twice = model.lines.length
  await step('sign in', signingIn)
  await step('refresh', presenting({ line: twice, counter: 0 }))
  await step('upgrade', upgrading(twice))
  await step('show a recovery code', recovering(twice))
  await step('refresh between', presenting({ line: twice, counter: 1 }))
  await new ClockMove(INTERVAL_MS + 1).run(model, real)
  await step('refresh late', presenting({ line: twice, counter: 1 }))
}
