import {
  atLeast,
  compare,
  measure,
  withCpu,
  type Goal,
  type Measured,
  type Shoot,
} from '@signet/testkit/bench'
import { type HttpClient as Client, HttpClient } from './http-client.js'
import { reportRate } from './refresh.js'
import { accessTokenOf, userIdOf } from './seed.js'
import { startBareExpress, startBareHttp, type Running } from './servers.js'

const PACE = { concurrency: 16, seconds: 3 }

export const someTokens = (): string[] => Array.from({ length: 100 }, (_, index) => accessTokenOf(index + 1))

export const getUser =
  (client: Client, tokens: readonly string[]): Shoot =>
  async () => {
    const token = tokens[Math.floor(Math.random() * tokens.length)] ?? ''
    await client.ask({ method: 'GET', path: '/user', token })
  }

/** Compares it with the same select behind Express, and behind `node:http` alone. */
export async function benchUser(service: Running, databaseUrl: string, users: number): Promise<void> {
  const [express, http] = [await startBareExpress(databaseUrl), await startBareHttp(databaseUrl)]
  const clients = [service, express, http].map(({ base }) => new HttpClient(base)) as [Client, Client, Client]
  const bare = (client: Client) => () =>
    measure(async () => {
      await client.ask({ method: 'GET', path: `/user/${userIdOf(1 + Math.floor(Math.random() * users))}` })
    }, PACE)
  const shoot = getUser(clients[0], someTokens())
  const [ours, framed, plain] = await compare(
    withCpu(service, () => measure(shoot, PACE)),
    withCpu(express, bare(clients[1])),
    withCpu(http, bare(clients[2])),
  )
  const perSecond = (name: string, measured: Measured, goal?: Goal) =>
    reportRate(name, 'requests/s', measured, goal)
  perSecond('bare node:http, select', plain)
  perSecond('bare Express, select', framed)
  perSecond('GET /user against Express', ours, atLeast(ours.perSecond / framed.perSecond, 0.92))
  perSecond('GET /user against node:http', ours, atLeast(ours.perSecond / plain.perSecond, 0.6))
  for (const client of clients) client.close()
  await express.stop()
  await http.stop()
}
