import { randomBytes } from 'node:crypto'
import { expect } from '@jest/globals'
import { request } from 'undici'
import type { TestServer } from './server.js'

export type Json = Record<string, unknown>
export type ApiAnswer = { status: number; headers: Headers; body: Json; text: string }

export type CallOptions = {
  body?: unknown
  token?: string | undefined
  /** Ask for API version 2024-01-01. */
  versioned?: boolean
  headers?: Record<string, string>
  /** False to return without waiting for the messages that the request causes. */
  settle?: boolean
}

/** A server under test; one that runs in the test's process can tell when it has tried to send its messages. */
export type Callable = { url: string; settled?: () => Promise<void> }

/**
 * Sends one request and waits for the messages that it causes. Bodies are JSON, and redirects are returned instead of followed. Does not
 * use `fetch`, which takes four times the CPU time: most tests send many requests.
 */
export async function call(
  server: Callable,
  method: string,
  path: string,
  { body, token, versioned = false, headers = {}, settle = true }: CallOptions = {},
): Promise<ApiAnswer> {
  const response = await request(`${server.url}${path}`, {
    method,
    headers: {
      accept: '*/*',
      'user-agent': 'node',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(versioned ? { 'X-Supabase-Api-Version': '2024-01-01' } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.body.text()
  if (settle) await server.settled?.()
  return { status: response.statusCode, headers: headersOf(response.headers), text, body: parse(text) }
}

function headersOf(received: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(received))
    for (const value of [values].flat()) headers.append(name, value)
  return headers
}

function parse(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return {}
  }
}

export const get = (server: Callable, path: string, options?: CallOptions) =>
  call(server, 'GET', path, options)
export const post = (server: Callable, path: string, body?: unknown, options: CallOptions = {}) =>
  call(server, 'POST', path, { ...options, body })
export const put = (server: Callable, path: string, body?: unknown, options: CallOptions = {}) =>
  call(server, 'PUT', path, { ...options, body })

/** Expects an error in the format of the initial API version, or of 2024-01-01 if the answer has a version header. */
export function expectError(answer: ApiAnswer, status: number, code: string, text?: string | RegExp): void {
  const versioned = answer.headers.get('x-supabase-api-version') !== null
  const { code: bodyCode, error_code: initialCode, msg, message } = answer.body
  expect({ status: answer.status, code: versioned ? bodyCode : initialCode }).toEqual({ status, code })
  if (!versioned) expect(bodyCode).toBe(status)
  expect(answer.headers.get('x-sb-error-code')).toBe(code)
  if (text !== undefined) expect(versioned ? message : msg).toMatch(text)
}

export const anEmail = (): string => `user-${randomBytes(6).toString('hex')}@example.com`
export const aPhone = (): string =>
  `49151${String(randomBytes(4).readUInt32BE()).padStart(10, '0').slice(0, 9)}`
export const PASSWORD = 'correct horse battery'
/** A well-formed id that belongs to no user. */
export const UUID = '00000000-0000-4000-8000-000000000000'

export type Session = { access_token: string; refresh_token: string; user: Json & { id: string } } & Json
export type SignedUp = Session & { email: string; password: string }

/** Waits for the next email to an address, and returns its link and code. */
export async function mailTo(server: { inbox: TestServer['inbox'] }, to: string, after?: { id: number }) {
  const mail = await server.inbox.waitForMail({ to, ...(after ? { after } : {}) })
  const link = mail.links.find((url) => url.includes('token='))
  const code = /\b(\d{6,10})\b/.exec(mail.text || mail.html)?.[1]
  return {
    mail,
    link,
    code,
    token: link === undefined ? undefined : (new URL(link).searchParams.get('token') ?? ''),
  }
}

/** Signs up and confirms a user through the public API, and returns the user's session. */
export async function aUser(server: TestServer, body: Json = {}): Promise<SignedUp> {
  const email = (body['email'] as string | undefined) ?? anEmail()
  const password = (body['password'] as string | undefined) ?? PASSWORD
  const signedUp = await post(server, '/signup', { email, password, ...body })
  expect(signedUp.status).toBe(200)
  if (signedUp.body['access_token'] !== undefined) return { ...(signedUp.body as Session), email, password }
  const { token } = await mailTo(server, email)
  const verified = await post(server, '/verify', { type: 'signup', token })
  expect(verified.status).toBe(200)
  return { ...(verified.body as Session), email, password }
}
