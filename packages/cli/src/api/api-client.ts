import { failureOf, isRecord } from './refusals.js'
import { notThisService, type HttpClient, type HttpRequest } from './http-client.js'
import {
  type CreatedToken,
  type CreatedWebhook,
  type Delivery,
  type PersonalToken,
  type Sample,
  type TestEvent,
  type Webhook,
} from './types.js'

/** What a request presents, and the advice for the case that it is not accepted. */
export type Credential = { bearer: string; whenInvalid: string }

type Options = { http: HttpClient; baseUrl: string; credential: Credential }
type Call = Omit<HttpRequest, 'url' | 'bearer'> & { path: string; query?: Record<string, string | undefined> }

/** The `/v1` and `/account` APIs of the webhooks service, one method per call. Failures are `CliError`s. */
export class ApiClient {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  listWebhooks(): Promise<Webhook[]> {
    return this.#items<Webhook>({ method: 'GET', path: '/v1/webhooks' })
  }

  createWebhook(input: { url: string; events: string[] }): Promise<CreatedWebhook> {
    return this.#object<CreatedWebhook>({ method: 'POST', path: '/v1/webhooks', body: input }, 'endpoint_id')
  }

  /** Replaces the events whatever else changes: what is left out of `events` is unsubscribed. */
  async updateWebhook(id: string, input: { url?: string; events: string[] }): Promise<Webhook> {
    const call: Call = { method: 'PATCH', path: `/v1/webhooks/${encodeURIComponent(id)}`, body: input }
    const { item } = await this.#object<{ item: Webhook }>(call, 'item')
    return item
  }

  async deleteWebhook(id: string): Promise<void> {
    await this.#send({ method: 'DELETE', path: `/v1/webhooks/${encodeURIComponent(id)}` })
  }

  sendTestEvent(id: string): Promise<TestEvent> {
    const path = `/v1/webhooks/${encodeURIComponent(id)}/test`
    return this.#object<TestEvent>({ method: 'POST', path }, 'event_id')
  }

  listDeliveries(id: string, query: { page?: string; page_size?: string }): Promise<Delivery[]> {
    const path = `/v1/webhooks/${encodeURIComponent(id)}/deliveries`
    return this.#items<Delivery>({ method: 'GET', path, query })
  }

  async listSamples(query: { event?: string; limit?: string }): Promise<Sample[]> {
    const { body, url, status } = await this.#send({
      method: 'GET',
      path: '/v1/webhook-events/samples',
      query,
    })
    if (!Array.isArray(body)) throw notThisService(status, url)
    return body as Sample[]
  }

  createToken(input: { name: string; expires_in_days?: number }): Promise<CreatedToken> {
    return this.#object<CreatedToken>({ method: 'POST', path: '/account/tokens', body: input }, 'token')
  }

  listTokens(): Promise<PersonalToken[]> {
    return this.#items<PersonalToken>({ method: 'GET', path: '/account/tokens' })
  }

  async revokeToken(id: string): Promise<void> {
    await this.#send({ method: 'DELETE', path: `/account/tokens/${encodeURIComponent(id)}` })
  }

  /** Revokes the personal token that is presented. */
  async revokeCurrentToken(): Promise<void> {
    await this.#send({ method: 'DELETE', path: '/account/tokens/current' })
  }

  async #items<T>(call: Call): Promise<T[]> {
    const { items } = await this.#object<{ items: T[] }>(call, 'items')
    return items
  }

  /** The member that every answer of this kind has tells this service from another one at the same address. */
  async #object<T>(call: Call, member: keyof T & string): Promise<T> {
    const { body, url, status } = await this.#send(call)
    if (!isRecord(body) || body[member] === undefined) throw notThisService(status, url)
    return body as T
  }

  async #send({ path, query, ...request }: Call) {
    const { http, baseUrl, credential } = this.#options
    const url = new URL(baseUrl + path)
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, value)
    }
    const answer = await http.send({ ...request, url, bearer: credential.bearer })
    if (answer.status < 200 || answer.status > 299) throw failureOf(answer, credential)
    return answer
  }
}
