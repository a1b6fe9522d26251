import { afterAll, beforeAll, it } from '@jest/globals'
import fc from 'fast-check'
import { aUser } from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps } from './support/factors.js'
import { startServer, type TestServer } from './support/server.js'
import {
  barring,
  ClockMove,
  loggingOut,
  Real,
  refreshing,
  Requests,
  signingIn,
  upgrading,
  visitCorners,
  type Choice,
} from './support/session-commands.js'
import { INACTIVITY_MS, INTERVAL_MS, Model, SECOND_MS } from './support/session-model.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    ...FACTOR_ENVIRONMENT,
    AUTH_JWT_EXP: '720h',
    AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: `${INTERVAL_MS}ms`,
    AUTH_SESSIONS_INACTIVITY_TIMEOUT: `${INACTIVITY_MS}ms`,
    AUTH_RATE_LIMIT_TOKEN_REFRESH: '1000000',
    AUTH_RATE_LIMIT_OTP: '1000000',
  })
})
afterAll(() => server.close())

const which = fc.nat({ max: 30 })
const scope = fc.constantFrom('global', 'local', 'others')
type Named = { name: string; choice: Choice }
const refreshes = which.map((n): Named => ({ name: `refresh ${n}`, choice: refreshing(n) }))
const signIns = fc.constant<Named>({ name: 'sign in', choice: signingIn })
const upgrades = which.map((n): Named => ({ name: `upgrade ${n}`, choice: upgrading(n) }))
const logouts = fc
  .tuple(which, scope)
  .map(([n, s]): Named => ({ name: `log out ${n} ${s}`, choice: loggingOut(n, s) }))
const ends = fc.constantFrom<Named[]>(
  { name: 'banned', choice: barring('banned') },
  { name: 'deleted', choice: barring('deleted') },
)
const alone = ({ name, choice }: Named) => new Requests([choice], name)
const beside = ([a, b]: [Named, Named]) => new Requests([a.choice, b.choice], `${a.name} beside ${b.name}`)

const COMMANDS = [
  ...[refreshes, refreshes, refreshes, signIns, upgrades, logouts, ends].map((command) => command.map(alone)),
  fc.constant(new Requests([barring(null)], 'unban')),
  ...[refreshes, refreshes, upgrades, logouts, signIns, ends].map((other) =>
    fc.tuple(refreshes, other).map(beside),
  ),
  ...[logouts, upgrades, signIns].map((other) => fc.tuple(logouts, other).map(beside)),
  fc
    .constantFrom(5 * SECOND_MS, INTERVAL_MS, INTERVAL_MS + 1, INACTIVITY_MS - SECOND_MS, INACTIVITY_MS + 1)
    .map((ms) => new ClockMove(ms)),
]

it('lets each token do exactly what a model of twenty lines allows, after any sequence of events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 16, size: 'max' }), async (commands) => {
      const user = await aUser(server)
      const factor = await factorSteps(() => server).enroll(user)
      const [model, real] = [new Model(), new Real(server, user, factor)]
      await fc.asyncModelRun(() => ({ model, real }), commands)
      await visitCorners(model, real)
    }),
    { numRuns: 5, endOnFailure: true },
  )
}, 300_000)
