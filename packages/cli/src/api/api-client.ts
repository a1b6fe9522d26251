import { RefusedError } from '../errors.js'
import { failureOf } from './refusals.js'
import { notThisService, type HttpClient, type HttpRequest } from './http-client.js'
import { listOf, object, type Shape } from './shape.js'
import {
  createdTokenShape,
  createdWebhookShape,
  deliveryDetailShape,
  deliveryPageShape,
  deliveryShape,
  nextSecretShape,
  personalTokenShape,
  recoveryPageShape,
  recoveryShape,
  sampleShape,
  testEventShape,
  webhookShape,
  type CreatedToken,
  type CreatedWebhook,
  type Delivery,
  type DeliveryDetail,
  type DeliveryPage,
  type DeliveryQuery,
  type NextSecret,
  type PersonalToken,
  type Recovery,
  type RecoveryPage,
  type Sample,
  type TestEvent,
  type Webhook,
} from './types.js'

/** The credential of a request, and the hint to show if it is rejected. */
export type Credential = { bearer: string; whenInvalid: string }

type Options = { http: HttpClient; baseUrl: string; credential: Credential }
type Call = Omit<HttpRequest, 'url' | 'bearer'> & {
  path: string
  query?: Record<string, string | undefined>
  /** What the path refers to, for the error message: the service only says that something does not exist. */
  names?: string
}

/** The `/v1` and `/account` APIs of the webhooks service, one method per call. Failures are `CliError`s. */
export class ApiClient {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  listWebhooks(): Promise<Webhook[]> {
    return this.#items({ method: 'GET', path: '/v1/webhooks' }, webhookShape)
  }

  getWebhook(id: string): Promise<Webhook> {
    return this.#item({ method: 'GET', ...webhook(id) }, webhookShape)
  }

  createWebhook(input: { url: string; events: string[] }): Promise<CreatedWebhook> {
    return this.#read({ method: 'POST', path: '/v1/webhooks', body: input }, createdWebhookShape)
  }

  /** Always replaces the events: a type left out of `events` is unsubscribed. */
  updateWebhook(id: string, input: { url?: string; events: string[] }): Promise<Webhook> {
    return this.#item({ method: 'PATCH', ...webhook(id), body: input }, webhookShape)
  }

  enableWebhook(id: string): Promise<Webhook> {
    return this.#item({ method: 'POST', ...webhook(id, '/enable') }, webhookShape)
  }

  rotateSecret(id: string, hours: number | undefined): Promise<NextSecret> {
    const body = hours === undefined ? {} : { body: { activate_after_hours: hours } }
    return this.#read({ method: 'POST', ...webhook(id, '/secret/rotate'), ...body }, nextSecretShape)
  }

  changeSecret(id: string, change: 'activate' | 'cancel'): Promise<Webhook> {
    return this.#item({ method: 'POST', ...webhook(id, `/secret/${change}`) }, webhookShape)
  }

  async deleteWebhook(id: string): Promise<void> {
    await this.#send({ method: 'DELETE', ...webhook(id) })
  }

  sendTestEvent(id: string): Promise<TestEvent> {
    return this.#read({ method: 'POST', ...webhook(id, '/test') }, testEventShape)
  }

  listDeliveries(id: string, query: DeliveryQuery): Promise<DeliveryPage> {
    return this.#read({ method: 'GET', ...webhook(id, '/deliveries'), query }, deliveryPageShape)
  }

  getDelivery(id: string, deliveryId: string): Promise<DeliveryDetail> {
    return this.#item({ method: 'GET', ...delivery(id, deliveryId) }, deliveryDetailShape)
  }

  replayDelivery(id: string, deliveryId: string): Promise<Delivery> {
    return this.#item({ method: 'POST', ...delivery(id, deliveryId, '/replay') }, deliveryShape)
  }

  startRecovery(id: string, input: { since: string; until?: string; what?: string }): Promise<Recovery> {
    return this.#item({ method: 'POST', ...webhook(id, '/recover'), body: input }, recoveryShape)
  }

  listRecoveries(id: string, cursor?: string): Promise<RecoveryPage> {
    const call = { method: 'GET', ...webhook(id, '/recover'), query: { page_size: '100', cursor } } as const
    return this.#read(call, recoveryPageShape)
  }

  getRecovery(id: string, recoveryId: string): Promise<Recovery> {
    return this.#item({ method: 'GET', ...recovery(id, recoveryId) }, recoveryShape)
  }

  cancelRecovery(id: string, recoveryId: string): Promise<Recovery> {
    return this.#item({ method: 'DELETE', ...recovery(id, recoveryId) }, recoveryShape)
  }

  listSamples(query: { event?: string; limit?: string }): Promise<Sample[]> {
    return this.#read({ method: 'GET', path: '/v1/webhook-events/samples', query }, listOf(sampleShape))
  }

  createToken(input: { name: string; expires_in_days?: number }): Promise<CreatedToken> {
    return this.#read({ method: 'POST', path: '/account/tokens', body: input }, createdTokenShape)
  }

  listTokens(): Promise<PersonalToken[]> {
    return this.#items({ method: 'GET', path: '/account/tokens' }, personalTokenShape)
  }

  async revokeToken(id: string): Promise<void> {
    const path = `/account/tokens/${encodeURIComponent(id)}`
    await this.#send({ method: 'DELETE', path, names: `token ${id}` })
  }

  /** Revokes the personal token that this call presents. */
  async revokeCurrentToken(): Promise<void> {
    await this.#send({ method: 'DELETE', path: '/account/tokens/current' })
  }

  /** Makes any call, for operations without a method here. The path is relative to the service's address and includes the query. */
  async call({ method, path, body }: Pick<Call, 'method' | 'path' | 'body'>): Promise<unknown> {
    return (await this.#send({ method, path, body })).body
  }

  async #item<T>(call: Call, shape: Shape<T>): Promise<T> {
    return (await this.#read(call, object({ item: shape }))).item
  }

  async #items<T>(call: Call, shape: Shape<T>): Promise<T[]> {
    return (await this.#read(call, object({ items: listOf(shape) }))).items
  }

  /** Returns the body if it has the expected shape: a different service may be running at this address. */
  async #read<T>(call: Call, isExpected: Shape<T>): Promise<T> {
    const { body, url, status } = await this.#send(call)
    if (!isExpected(body)) throw notThisService(status, url)
    return body
  }

  async #send({ path, query, names, ...request }: Call) {
    const { http, baseUrl, credential } = this.#options
    const url = new URL(baseUrl + path)
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, value)
    }
    const answer = await http.send({ ...request, url, bearer: credential.bearer })
    if (answer.status >= 200 && answer.status <= 299) return answer
    const failure = failureOf(answer, credential)
    const unknown = failure.code === 'not_found' && names !== undefined
    throw unknown ? new RefusedError('not_found', `There is no ${names}`) : failure
  }
}

/** Path and name of a webhook, or of a resource below it. */
const webhook = (id: string, below = '') => ({
  path: `/v1/webhooks/${encodeURIComponent(id)}${below}`,
  names: `webhook ${id}`,
})

const delivery = (id: string, deliveryId: string, below = '') => ({
  path: `${webhook(id).path}/deliveries/${encodeURIComponent(deliveryId)}${below}`,
  names: `delivery ${deliveryId} of webhook ${id}`,
})

const recovery = (id: string, recoveryId: string) => ({
  path: `${webhook(id).path}/recover/${encodeURIComponent(recoveryId)}`,
  names: `recovery ${recoveryId} of webhook ${id}`,
})
