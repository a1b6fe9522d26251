import { afterAll } from '@jest/globals'
import { anEmail, PASSWORD, post } from './api.js'
import type { TestServer } from './server.js'

const DAY_MS = 86_400_000
type Start = (env: Record<string, string>) => Promise<TestServer>

/** Lets tests of a file that need the same settings share a server. Before each reuse a day passes, which restores its quotas. */
export function useSharedServers(): (env: Record<string, string>, start: Start) => Promise<TestServer> {
  const servers = new Map<string, Promise<TestServer>>()
  afterAll(async () => Promise.all([...servers.values()].map(async (server) => (await server).close())))
  return async (env, start) => {
    const key = JSON.stringify(env)
    const known = servers.get(key)
    const started = known ?? start(env)
    servers.set(key, started)
    const server = await started
    if (known) server.clock.advance(DAY_MS)
    return server
  }
}

let clients = 0
export const aClient = () => ({ headers: { 'X-Client': `client-${(clients += 1)}` } })
export const signUp = (server: TestServer, from = aClient(), email = anEmail()) =>
  post(server, '/signup', { email, password: PASSWORD }, from)
export const statuses = async (answers: ReturnType<typeof signUp>[]) =>
  (await Promise.all(answers)).map(({ status }) => status)
export const count = (of: readonly number[], status: number) => of.filter((each) => each === status).length
export const times = <T>(n: number, make: (index: number) => T): T[] =>
  Array.from({ length: n }, (_, index) => make(index))
