import { type HttpClient as Client, HttpClient } from './http-client.js'
import { compare, measure, type Shoot } from './load.js'
import { atLeast, report } from './report.js'
import { accessTokenOf, userIdOf } from './seed.js'
import { startBareExpress, startBareHttp, type Running } from './servers.js'

const PACE = { lanes: 16, seconds: 3 }

export const someTokens = (): string[] => Array.from({ length: 100 }, (_, index) => accessTokenOf(index + 1))

export const getUser =
  (client: Client, tokens: readonly string[]): Shoot =>
  async () => {
    const token = tokens[Math.floor(Math.random() * tokens.length)] ?? ''
    await client.ask({ method: 'GET', path: '/user', token })
  }

/** Against the same select behind Express, and behind nothing but `node:http`. */
export async function benchUser(service: Running, databaseUrl: string, users: number): Promise<void> {
  const [express, http] = [await startBareExpress(databaseUrl), await startBareHttp(databaseUrl)]
  const clients = [service, express, http].map(({ base }) => new HttpClient(base)) as [Client, Client, Client]
  const bare = (client: Client) => () =>
    measure(async () => {
      await client.ask({ method: 'GET', path: `/user/${userIdOf(1 + Math.floor(Math.random() * users))}` })
    }, PACE)
  const shoot = getUser(clients[0], someTokens())
  const [ours, framed, plain] = await compare(() => measure(shoot, PACE), bare(clients[1]), bare(clients[2]))
  report('GET /user', ours.perSecond, 'requests/s', atLeast(ours.perSecond / framed.perSecond, 0.92))
  report(
    'GET /user against node:http',
    ours.perSecond,
    'requests/s',
    atLeast(ours.perSecond / plain.perSecond, 0.6),
  )
  for (const client of clients) client.close()
  await express.stop()
  await http.stop()
}
