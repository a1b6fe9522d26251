import type { Db } from '@signet/db'
import type { RequestMeta } from '@signet/telemetry'
import {
  endpointSecretContext,
  newSigningSecret,
  type EndpointId,
  type EventType,
  type SecretBox,
} from '@signet/webhook-core'
import {
  deleteEndpoint,
  enableEndpoint,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  patchEndpoint,
  type Endpoint,
} from '@signet/webhook-core/stores'
import type { WebhookObserver } from '../observers/webhook-observer.js'
import { notFound } from '../errors/api-errors.js'
import { RuleError } from '../errors/rule-error.js'
import type { UrlPolicy } from './url-policy.js'

/** `language` is that of the page on which the owner submits the form. */
type Input = { url: string; events: readonly EventType[]; language?: string }

type Deps = { db: Db; urlPolicy: UrlPolicy; secretBox: SecretBox; webhookObserver: WebhookObserver }

/** Disabled endpoints count until they are deleted (docs/specification.md#creating-a-webhook). */
export const MAX_ENDPOINTS_PER_ACCOUNT = 5

/** The endpoints of accounts. Every method requires the account, so another account's id counts as unknown. */
export class EndpointService {
  constructor(private readonly deps: Deps) {}

  /** Creates an endpoint and returns its secret, which nothing else returns. */
  async create(
    accountId: string,
    input: Input,
    meta: RequestMeta,
  ): Promise<{ endpoint: Endpoint; secret: string }> {
    const { db, urlPolicy, secretBox, webhookObserver } = this.deps
    // Resolves names before locking the account: a slow name server must not hold the lock.
    const { url, href } = await urlPolicy.accept(input.url)
    const secret = newSigningSecret()
    const endpoint = await db.transaction((tx) =>
      insertEndpoint(tx, {
        accountId,
        url,
        href,
        events: input.events,
        language: input.language,
        maxPerAccount: MAX_ENDPOINTS_PER_ACCOUNT,
        seal: (id) => secretBox.seal(secret, endpointSecretContext({ id, accountId })),
      }),
    )
    if (!endpoint) throw new QuotaExceededError()
    webhookObserver.endpointCreated({ endpointId: endpoint.id, accountId }, meta)
    return { endpoint, secret }
  }

  list(accountId: string): Promise<Endpoint[]> {
    return listEndpoints(this.deps.db, accountId)
  }

  async get(accountId: string, id: EndpointId): Promise<Endpoint> {
    const endpoint = await findEndpoint(this.deps.db, accountId, id)
    if (!endpoint) throw notFound()
    return endpoint
  }

  /** Throws `not_found` for an id that the account does not have. */
  async requireOwned(accountId: string, id: EndpointId): Promise<void> {
    await this.get(accountId, id)
  }

  /** Replaces the events. If a URL is given, it must pass the policy even if it is the current one. */
  async update(
    accountId: string,
    id: EndpointId,
    input: Omit<Input, 'url'> & { url?: string | undefined },
    meta: RequestMeta,
  ): Promise<Endpoint> {
    const { db, urlPolicy, webhookObserver } = this.deps
    const url = input.url === undefined ? undefined : await urlPolicy.accept(input.url)
    const endpoint = await patchEndpoint(db, accountId, id, { ...input, url })
    if (!endpoint) throw notFound()
    webhookObserver.endpointUpdated({ endpointId: id, accountId }, meta)
    return endpoint
  }

  /** Makes an endpoint active and without failures, no matter what state it is in. */
  async enable(accountId: string, id: EndpointId, meta: RequestMeta): Promise<Endpoint> {
    const endpoint = await enableEndpoint(this.deps.db, accountId, id)
    if (!endpoint) throw notFound()
    this.deps.webhookObserver.endpointEnabled({ endpointId: id, accountId }, meta)
    return endpoint
  }

  async remove(accountId: string, id: EndpointId, meta: RequestMeta): Promise<void> {
    const { db, webhookObserver } = this.deps
    const deleted = await deleteEndpoint(db, accountId, id)
    if (!deleted) throw notFound()
    webhookObserver.endpointDeleted({ endpointId: id, accountId }, meta)
    if (deleted.failure !== undefined) webhookObserver.backlogLeft(id, deleted.failure)
  }
}

/** Has no `Retry-After`, unlike a rate limit (docs/specification.md#rate-limits). */
class QuotaExceededError extends RuleError {
  constructor() {
    super('endpoint.quota', { kind: 'limited', values: { max: MAX_ENDPOINTS_PER_ACCOUNT } })
  }
}
