import { afterAll, beforeAll, it } from '@jest/globals'
import fc from 'fast-check'
import { aUser } from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps } from './support/factors.js'
import { startServer, type TestServer } from './support/server.js'
import {
  barring,
  ClockMove,
  loggingOut,
  refreshing,
  Requests,
  signingIn,
  upgrading,
  visitCorners,
  type Choice,
} from './support/session-commands.js'
import { Real } from './support/session-real.js'
import {
  INACTIVITY_MS,
  INTERVAL_MS,
  Model,
  SECOND_MS,
  type Bar,
  type Limits,
} from './support/session-model.js'

const start = (env: Record<string, string> = {}) =>
  startServer({
    ...FACTOR_ENVIRONMENT,
    AUTH_JWT_EXP: '720h',
    AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: `${INTERVAL_MS}ms`,
    AUTH_SESSIONS_INACTIVITY_TIMEOUT: `${INACTIVITY_MS}ms`,
    AUTH_RATE_LIMIT_TOKEN_REFRESH: '1000000',
    AUTH_RATE_LIMIT_OTP: '1000000',
    ...env,
  })

const TIMEBOX_MS = 1.5 * INACTIVITY_MS
/** One server with the settings of most deployments, and one with settings that end sessions sooner. */
let servers: { server: TestServer; limits: Limits; numRuns: number }[] = []
beforeAll(async () => {
  const [open, strict] = await Promise.all([
    start(),
    start({ AUTH_SESSIONS_TIMEBOX: `${TIMEBOX_MS}ms`, AUTH_SESSIONS_SINGLE_PER_USER: 'true' }),
  ])
  servers = [
    { server: open, limits: { timeboxMs: Infinity, single: false }, numRuns: 3 },
    { server: strict, limits: { timeboxMs: TIMEBOX_MS, single: true }, numRuns: 2 },
  ]
})
afterAll(() => Promise.all(servers.map(({ server }) => server.close())))

const which = fc.nat({ max: 30 })
const scope = fc.constantFrom('global', 'local', 'others')
type Named = { name: string; choice: Choice }
const refreshes = which.map((n): Named => ({ name: `refresh ${n}`, choice: refreshing(n) }))
const signIns = fc.constant<Named>({ name: 'sign in', choice: signingIn })
const upgrades = which.map((n): Named => ({ name: `upgrade ${n}`, choice: upgrading(n) }))
const logouts = fc
  .tuple(which, scope)
  .map(([n, s]): Named => ({ name: `log out ${n} ${s}`, choice: loggingOut(n, s) }))
const bars = (...all: Bar[]) =>
  fc.constantFrom(...all).map((how): Named => ({ name: how ?? 'unban', choice: barring(how) }))
/** Any request. Refreshes come most often, as they do in a session. */
const any = fc.oneof(
  { weight: 4, arbitrary: refreshes },
  { weight: 1, arbitrary: signIns },
  { weight: 2, arbitrary: upgrades },
  { weight: 2, arbitrary: logouts },
  { weight: 2, arbitrary: bars('banned', null) },
)
const alone = ({ name, choice }: Named) => new Requests([choice], name)
const beside = ([a, b]: [Named, Named]) => new Requests([a.choice, b.choice], `${a.name} beside ${b.name}`)
const pairs = fc.tuple(any, any).map(beside)
/** Deletions come last in a run, because nothing can follow them. */
const deletions = fc.tuple(bars('deleted', 'erased'), fc.oneof(any, bars('deleted', 'erased'))).map(beside)

const COMMANDS = [
  any.map(alone),
  any.map(alone),
  pairs,
  pairs,
  fc
    .constantFrom(5 * SECOND_MS, INTERVAL_MS, INTERVAL_MS + 1, INACTIVITY_MS - SECOND_MS, INACTIVITY_MS + 1)
    .map((ms) => new ClockMove(ms)),
]
const runs = fc.tuple(fc.commands(COMMANDS, { maxCommands: 8, size: 'max' }), deletions)

it('lets each token do exactly what a model of a few lines allows, after any sequence of steps', async () => {
  for (const { server, limits, numRuns } of servers)
    await fc.assert(
      fc.asyncProperty(runs, async ([commands, deletion]) => {
        const user = await aUser(server)
        const factor = await factorSteps(() => server).enroll(user)
        const [model, real] = [new Model(limits), new Real(server, user, factor)]
        model.open()
        await fc.asyncModelRun(() => ({ model, real }), commands)
        await visitCorners(model, real)
        await deletion.run(model, real)
      }),
      { numRuns, endOnFailure: true },
    )
}, 1_200_000)
