import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { verify, type WebhookEvent, WebhookVerificationError } from '@signet/webhook-verify'
import { type Authority, createAuthority, issueCertificate, LOOPBACK } from '../certificate.js'
import { listen, type Place } from '../web-server.js'

export interface ReceiverOptions extends Place {
  /** Signs the server's certificate. If omitted, a new authority. */
  authority?: Authority
  /** Name by which senders reach the receiver, for which its certificate is also valid. 127.0.0.1 if omitted. */
  publicHost?: string
}

/** How the receiver treats one request. */
export interface Answer {
  status: number
  headers?: Record<string, string>
  body?: string | Buffer
  /** Called instead of sending the answer, for tests with receivers that misbehave. */
  instead?: (request: IncomingMessage, response: ServerResponse) => void
}

/** What a path expects and how it responds. */
export interface Hook {
  /** Signing secret of the webhook. Deliveries that do not verify are answered with 401. */
  secret?: string
  /** One answer per request, in order; afterwards 200. With a secret, only deliveries with a valid signature get them. */
  answers?: readonly Answer[]
  /** Replaces the 200 after (or without) `answers`. */
  otherwise?: Answer
}

export interface ReceivedDelivery {
  /** Increases with each delivery, across all paths. */
  number: number
  receivedAt: string
  path: string
  method: string
  headers: Record<string, string | string[] | undefined>
  /** Exactly the bytes that arrived. */
  body: Buffer
  /** Null if the path has no secret to verify with. */
  verified: boolean | null
  /** Why the delivery was refused. Empty if it was not. */
  refusal: string
  /** The verified event, or any JSON that an unverified path got. */
  event?: WebhookEvent
  answer: Answer
}

export interface DeliveryFilter {
  path?: string
  /** Only deliveries that arrived after this one. */
  after?: Pick<ReceivedDelivery, 'number'>
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

/** Maximum number of deliveries kept; the oldest are dropped, so that a long-running receiver does not fill the memory. */
const KEPT = 5000

/** Starts a real HTTPS server that receives webhooks: it verifies and remembers them, and answers as configured. */
export async function startReceiver({ authority, publicHost, ...place }: ReceiverOptions = {}) {
  const signer = authority ?? (await createAuthority())
  const hooks = new Map<string, Hook & { answers: Answer[] }>()
  const received: ReceivedDelivery[] = []
  let count = 0

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    const path = new URL(request.url ?? '/', 'https://local').pathname
    const { secret, answers = [], otherwise = { status: 200 } } = hooks.get(path) ?? {}
    const checked = check(body, request, secret)
    const answer = checked.verified === false ? { status: 401 } : (answers.shift() ?? otherwise)
    count += 1
    received.push({
      number: count,
      receivedAt: new Date().toISOString(),
      path,
      method: request.method ?? '',
      headers: request.headers,
      body,
      ...checked,
      answer,
    })
    received.splice(0, Math.max(0, received.length - KEPT))
    if (answer.instead) answer.instead(request, response)
    else response.writeHead(answer.status, answer.headers).end(answer.body)
  }

  const names = [...(publicHost ? [publicHost] : []), ...LOOPBACK]
  const server = createServer(await issueCertificate(signer, names), (request, response) => {
    take(request, response).catch(() => request.socket.destroy()) // the sender disconnected in the middle
  })
  const { port, close } = await listen(server, place)
  const deliveries = (filter: DeliveryFilter = {}): ReceivedDelivery[] =>
    received.filter((delivery) => matches(delivery, filter))

  return {
    ...{ server, port, close },
    /** PEM of the authority that senders must trust. */
    authorityCert: signer.cert,
    url: (path = '/'): string => `https://${publicHost ?? '127.0.0.1'}:${port}${path}`,
    /** Sets what a path expects and how it responds, replacing what was set before. */
    hook(path: string, hook: Hook): void {
      hooks.set(path, { ...hook, answers: [...(hook.answers ?? [])] })
    },
    /** Oldest first. */
    deliveries,
  }
}

type Checked = Pick<ReceivedDelivery, 'verified' | 'refusal' | 'event'>

function check(body: Buffer, request: IncomingMessage, secret: string | undefined): Checked {
  if (secret === undefined)
    return { verified: null, refusal: '', event: parseLeniently(body) as WebhookEvent }
  try {
    return { verified: true, refusal: '', event: verify(body, request.headers, secret) }
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error
    return { verified: false, refusal: error.code }
  }
}

/** Returns undefined for anything that is not JSON. */
export function parseLeniently(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

const matches = (delivery: ReceivedDelivery, { path, after }: DeliveryFilter): boolean =>
  (path === undefined || delivery.path === path) && (after === undefined || delivery.number > after.number)
