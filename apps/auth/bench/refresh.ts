import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  atLeast,
  compare,
  measure,
  reporter,
  withCpu,
  type Goal,
  type Measured,
  type Shoot,
} from '@signet/testkit/bench'
import { HttpClient } from './http-client.js'
import * as seed from './seed.js'
import { startBareHttp, startService, type Running } from './servers.js'
import { newKeys } from './signing.js'

const PACE = { concurrency: 16, seconds: 3 }
const report = reporter('auth', { failsOnMiss: true })

/** One line with what a request cost the server's process, in µs. */
export function reportRate(
  name: string,
  unit: string,
  { perSecond, cpuUs = NaN }: Measured,
  goal?: Goal,
): void {
  report({ case: name, value: perSecond, unit, ...goal, others: { cpu_us: Math.round(cpuUs) } })
}

/** Seeds the database of a checkout, whose tables and tokens may differ from ours. */
type Seed = Pick<typeof seed, 'refreshTokenOf' | 'seedDatabase'>

/** Each worker uses its own sessions, starting at `first`, and follows their chains of tokens. */
export function refresh(
  client: HttpClient,
  first: number,
  { refreshTokenOf }: Pick<Seed, 'refreshTokenOf'> = seed,
): Shoot {
  const current = new Map<number, string>()
  return async (worker) => {
    const body = { refresh_token: current.get(worker) ?? refreshTokenOf(first + worker) }
    const answer = await client.ask({ method: 'POST', path: '/token?grant_type=refresh_token', body })
    current.set(worker, refreshTokenIn(answer))
  }
}

/** Does not parse the rest, because that work would be the load's. */
export function refreshTokenIn(answer: string): string {
  const [, token] = /"refresh_token":"([^"]+)"/.exec(answer) ?? []
  if (token === undefined) throw new Error(`no refresh token in ${answer}`)
  return token
}

type Options = { adminUrl: string; databaseUrl: string; users: number; beside: string | undefined }

/** With both kinds of asymmetric signatures; the bare server and the checkout beside sign with ES256. */
export async function benchRefresh({ adminUrl, databaseUrl, users, beside }: Options): Promise<void> {
  const running: Running[] = []
  const load = async (server: Promise<Running>, shootOf: (client: HttpClient) => Shoot) => {
    const started = await server
    running.push(started)
    const shoot = shootOf(new HttpClient(started.base))
    return withCpu(started, () => measure(shoot, PACE))
  }
  const es256 = newKeys('ES256')
  const loads: (() => Promise<Measured>)[] = [
    await load(startService(databaseUrl, { keys: es256 }), (client) => refresh(client, 1)),
    await load(startService(databaseUrl, { keys: newKeys('RS256') }), (client) => refresh(client, 101)),
    await load(startBareHttp(databaseUrl), bareRefresh),
  ]
  if (beside !== undefined) {
    const app = join(beside, 'apps/auth')
    const other = (await import(pathToFileURL(join(app, 'bench/seed.ts')).href)) as Seed
    const url = await other.seedDatabase(adminUrl, 'bench_beside', users)
    loads.push(await load(startService(url, { app, keys: es256 }), (client) => refresh(client, 1, other)))
  }
  const [ours, withRsa, bare, before] = await compare(...loads)
  if (ours === undefined || withRsa === undefined || bare === undefined) throw new Error('nothing measured')
  const perSecond = (name: string, measured: Measured, goal?: Goal) =>
    reportRate(name, 'refreshes/s', measured, goal)
  perSecond('bare node:http, update and ES256', bare)
  perSecond('refresh, ES256', ours, atLeast(ours.perSecond / bare.perSecond, 0.6))
  perSecond('refresh, RS256', withRsa, atLeast(withRsa.perSecond / ours.perSecond, 0.9))
  if (before)
    perSecond('refresh of the checkout beside', before, atLeast(ours.perSecond / before.perSecond, 1.8))
  for (const server of running) await server.stop()
}

const bareRefresh =
  (client: HttpClient): Shoot =>
  async (worker) => {
    const body = { session: seed.sessionIdOf(201 + worker) }
    await client.ask({ method: 'POST', path: '/refresh', body })
  }
