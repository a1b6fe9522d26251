import type fc from 'fast-check'
import { call, PASSWORD, post, put, type ApiAnswer } from './api.js'
import {
  cloneOf,
  INTERVAL_MS,
  outcomeOf,
  SECOND_MS,
  type Bar,
  type Model,
  type Outcome,
  type Token,
} from './session-model.js'
import { agrees, expectEqual, type Real } from './session-real.js'
import { serviceToken } from './tokens.js'

/** One request about a token or session that is already chosen: its expected outcome, and the request itself. */
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
    foresee: (now) => outcomeOf('refresh', now.refresh(token)),
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
  foresee: (model) => outcomeOf('sign in', model.open()),
  ask: ({ server, user }) =>
    post(server, '/token?grant_type=password', { email: user.email, password: PASSWORD }),
})

export const upgrading =
  (which: number): Choice =>
  (model) => {
    const line = which % model.lines.length
    return {
      name: `upgrade session ${line}`,
      foresee: (now) => outcomeOf('change', now.upgradeByCode(line)),
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

/** Shows a second proof in a session that has shown one. Unlike an authenticator's code, it needs no time to pass. */
const recovering =
  (line: number): Choice =>
  () => ({
    name: `show a recovery code in session ${line}`,
    foresee: (now) => outcomeOf('change', now.upgrade(line)),
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
      foresee: (now) => outcomeOf('change', now.logout(scope, line)),
      ask: (real) => post(real.server, `/logout?scope=${scope}`, undefined, { token: real.access(line) }),
    }
  }

export const barring =
  (how: Bar): Choice =>
  () => ({
    name: how ?? 'unban',
    foresee: (model) => outcomeOf('administer', model.bar(how)),
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

/** Sends one request, or two at once. Two must have the outcome that they would have one after the other, in either order. */
export class Requests implements fc.AsyncCommand<Model, Real> {
  constructor(
    private readonly choices: readonly Choice[],
    private readonly name: string,
  ) {}

  check = ({ barred }: Readonly<Model>) => barred === null || (barred === 'banned' && this.name !== 'banned')

  async run(model: Model, real: Real): Promise<void> {
    // An authenticator's code is accepted only once in its thirty seconds.
    if (this.name.includes('upgrade')) move(model, real, 30 * SECOND_MS)
    const actions = this.choices.map((choose) => choose(model))
    const answers = await Promise.all(actions.map(({ ask }) => ask(real)))
    const found = await real.stored()
    const orders = [actions, [...actions].reverse()].map((order) => {
      const after = cloneOf(model)
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
 * Visits the corners that few random orders reach, from whatever state those left: a token that comes back late, a second factor
 * in a session that ended for reuse, by a logout and by a ban, a ban from its beginning to its end, two proofs in a row, and
 * a refresh after a proof.
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
  const strong = model.lines.length
  await step('sign in', signingIn)
  await step('upgrade', upgrading(strong))
  await step('refresh', presenting({ line: strong, counter: 1 }))
}
