import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, call, PASSWORD, post } from '../support/api.js'
import { holdTransactions } from '../support/held-transactions.js'
import { anOperator, changeUser, type OperatorInPerson } from '../support/operator.js'
import { NO_EMAIL_GAPS, type TestServer } from '../support/server.js'
import { serviceToken } from '../support/tokens.js'
import { aUserWithTotp, startUi } from './support.js'

let server: TestServer
beforeAll(async () => {
  // A long poll interval, so that only requests begin transactions.
  const env = { AUTH_UI_OPERATOR_ENABLED: 'true', AUTH_OUTBOX_POLL_INTERVAL: '1h', ...NO_EMAIL_GAPS }
  server = await startUi(env)
})
afterAll(() => server.close())

type Act = { id: string; fields: Record<string, string> }

/** A press of each button of the page, each for a different person. */
async function acts(): Promise<Act[]> {
  const email = anEmail()
  await post(server, '/signup', { email, password: PASSWORD })
  const { rows } = await server.context.db.query<{ id: string }>('select id from users where email = $1', [
    email,
  ])
  const people = [await aUser(server), await aUser(server), await aUser(server), await aUser(server)]
  const [first, second, third, fourth] = people.map(({ user }) => user.id)
  const withFactor = await aUserWithTotp(server)
  return [
    { id: first ?? '', fields: { action: 'ban', duration: '24h' } },
    { id: second ?? '', fields: { action: 'unban' } },
    { id: third ?? '', fields: { action: 'sign-out' } },
    { id: fourth ?? '', fields: { action: 'recovery' } },
    { id: rows[0]?.id ?? '', fields: { action: 'confirmation' } },
    { id: withFactor.user.id, fields: { action: 'factor', factor_id: withFactor.factorId } },
  ]
}

/** Sends all forms, and keeps each from beginning its transaction before `meanwhile` is done. */
async function press({ browser }: OperatorInPerson, all: readonly Act[], meanwhile: () => Promise<unknown>) {
  const pages = await Promise.all(all.map(({ id }) => browser.get(`/ui/operator/users/${id}`)))
  const held = holdTransactions(server, all.length)
  const answers = all.map(({ id, fields }, index) => {
    const page = pages[index]
    if (page === undefined) throw new Error('no page')
    return browser.submit(page, `/ui/operator/users/${id}`, fields)
  })
  await held.reached()
  await meanwhile()
  const before = await state()
  held.release()
  return { before, answers: await Promise.all(answers) }
}

const state = async (): Promise<unknown> =>
  (
    await server.context.db.query(
      `select (select json_agg(u order by id) from users u) as users,
         (select json_agg(s order by id) from sessions s) as sessions,
         (select json_agg(f order by id) from mfa_factors f) as factors,
         (select count(*) from one_time_tokens) as tokens,
         (select count(*) from audit_log_entries) as entries`,
    )
  ).rows[0]

const LOSSES: [string, number, (operator: OperatorInPerson) => Promise<unknown>][] = [
  ['was banned', 303, ({ user }) => changeUser(server, user.id, { ban_duration: '1h' })],
  ['was demoted', 404, ({ user }) => changeUser(server, user.id, { role: 'authenticated' })],
  [
    'was deleted',
    303,
    ({ user }) => call(server, 'DELETE', `/admin/users/${user.id}`, { token: serviceToken() }),
  ],
  [
    'has a session that lost its second factor',
    403,
    ({ user }) => server.context.db.query(`update sessions set aal = 'aal1' where user_id = $1`, [user.id]),
  ],
]

describe('an operator', () => {
  it.each(LOSSES)('who %s does and sees nothing anymore through forms under way', async (_, status, lose) => {
    const operator = await anOperator(server)
    const all = await acts()
    const { before, answers } = await press(operator, all, () => lose(operator))
    expect(answers.map((answer) => answer.status)).toEqual(all.map(() => status))
    for (const { text, location } of answers) {
      expect(text).not.toContain('@example.com')
      expect(location ?? '').not.toContain('done=')
    }
    expect(await state()).toEqual(before)
  })

  it('who lost nothing does all of it', async () => {
    const { before, answers } = await press(await anOperator(server), await acts(), () => Promise.resolve())
    for (const { status, location } of answers)
      expect([status, location]).toEqual([303, expect.stringContaining('done=')])
    expect(await state()).not.toEqual(before)
  })
})
