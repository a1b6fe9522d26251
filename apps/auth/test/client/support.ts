import { AuthAdminApi, AuthClient } from '@supabase/auth-js'
import { expect } from '@jest/globals'
import { anEmail, mailTo, PASSWORD } from '../support/api.js'
import { NO_EMAIL_GAPS, SITE, startServer, type TestServer } from '../support/server.js'
import { serviceToken } from '../support/tokens.js'

/** Where the client keeps its session; stands in for a browser's local storage. */
export function memoryStorage() {
  const items = new Map<string, string>()
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  }
}

type Options = { flowType?: 'implicit' | 'pkce'; storage?: ReturnType<typeof memoryStorage> }

/** The published client, unchanged, with stand-ins for what a browser would provide. */
export function aClient(
  server: TestServer,
  { flowType = 'implicit', storage = memoryStorage() }: Options = {},
) {
  return new AuthClient({
    url: server.url,
    storage,
    storageKey: 'session',
    autoRefreshToken: false,
    persistSession: true,
    detectSessionInUrl: false,
    flowType,
  })
}

export const anAdmin = (server: TestServer) =>
  new AuthAdminApi({ url: server.url, headers: { Authorization: `Bearer ${serviceToken()}` } })

/** The client compares expiry with the real time, so the server's clock starts there. */
export async function startClientServer(env: Record<string, string> = {}): Promise<TestServer> {
  const server = await startServer({
    ...NO_EMAIL_GAPS,
    AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
    ...env,
  })
  server.clock.set(new Date())
  return server
}

/** A client with a confirmed user signed in. */
export async function aSignedInClient(server: TestServer, options: Options = {}) {
  const client = aClient(server, options)
  const email = anEmail()
  await ok(client.signUp({ email, password: PASSWORD }))
  const { code } = await mailTo(server, email)
  const { session, user } = await ok(client.verifyOtp({ type: 'signup', email, token: code ?? '' }))
  if (session === null || user === null) throw new Error('no session after verification')
  return { client, email, session, user }
}

type Good<A> = Extract<A, { error: null }> extends { data: infer D } ? NonNullable<D> : never

/** The data of an answer, which must not be an error. */
export async function ok<A extends { data: unknown; error: unknown }>(
  answer: PromiseLike<A>,
): Promise<Good<A>> {
  const { data, error } = await answer
  expect(error).toBeNull()
  return data as Good<A>
}

/** Follows an email link as a browser does, and returns where it leads. */
export async function follow(server: TestServer, link: string | undefined): Promise<URL> {
  const { pathname, search } = new URL(link ?? '')
  const answer = await fetch(`${server.url}${pathname.replace('/auth/v1', '')}${search}`, {
    redirect: 'manual',
  })
  expect(answer.status).toBe(303)
  const location = new URL(answer.headers.get('location') ?? '')
  expect(location.origin).toBe(SITE)
  return location
}
