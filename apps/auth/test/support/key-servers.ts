import { expect } from '@jest/globals'
import { createKeyService } from '../../src/keys/create-keys.js'
import { get, PASSWORD, post } from './api.js'
import { startServer, type TestServer } from './server.js'

/** Every use looks for changes, as if some time had passed since the last one. */
const EAGER = { AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_JWT_KEYS_REFRESH_INTERVAL: '0' }

/** Servers of one test, and replicas of them; `closeAll` belongs into `afterEach`. */
export function keyServers() {
  const servers: TestServer[] = []
  const track = (server: TestServer) => {
    servers.push(server)
    return server
  }
  return {
    start: async (env: Record<string, string> = {}) => track(await startServer({ ...EAGER, ...env })),
    /** Another process of the same service, with the clock of the first. */
    replicaOf: async ({ databaseUrl, clock }: TestServer, env: Record<string, string> = {}) =>
      track(await startServer({ ...EAGER, DATABASE_URL: databaseUrl, ...env }, { now: clock.now })),
    closeAll: async () => {
      for (const server of servers.splice(0).reverse()) await server.close()
    },
  }
}

/** What `auth keys` uses, at the server's time. */
export function operatorOf({ context, clock }: TestServer) {
  const { config, db, stores, observer } = context
  return createKeyService({ config, db, store: stores.signingKeys, observer, now: clock.now })
}

export type Jwk = Record<string, unknown> & { kid: string; alg: string }

export const published = async (server: TestServer): Promise<Jwk[]> =>
  (await get(server, '/.well-known/jwks.json')).body['keys'] as Jwk[]

export const kidsOf = async (server: TestServer) => (await published(server)).map(({ kid }) => kid)

export const headerOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as { alg: string; kid?: string }

/** Signs in and returns the access token. */
export async function tokenFrom(server: TestServer, email: string): Promise<string> {
  const { body, status } = await post(server, '/token?grant_type=password', { email, password: PASSWORD })
  expect(status).toBe(200)
  return String(body['access_token'])
}

export const statusWith = async (server: TestServer, token: string) =>
  (await get(server, '/user', { token })).status
