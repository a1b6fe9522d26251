import type { Db } from '@signet/db'
import type { AppError } from '@signet/errors'
import type { RequestMeta } from '@signet/telemetry'
import {
  endpointSecretContext,
  newSigningSecret,
  type EndpointId,
  type SecretBox,
} from '@signet/webhook-core'
import {
  activateNextSecret,
  cancelNextSecret,
  findEndpoint,
  storeNextSecret,
  type Endpoint,
} from '@signet/webhook-core/stores'
import { notFound } from '../errors/api-errors.js'
import { RuleError, type Rule } from '../errors/rule-error.js'
import type { WebhookObserver } from '../observers/webhook-observer.js'

type Deps = { db: Db; secretBox: SecretBox; webhookObserver: WebhookObserver }

/** Replaces the signing secret of an endpoint in two steps (docs/specification.md#replacing-a-secret, decision 0172). */
export class SecretService {
  constructor(private readonly deps: Deps) {}

  /** Creates and returns the next secret, which nothing else returns. */
  async rotate(
    accountId: string,
    id: EndpointId,
    { activateAfterHours }: { activateAfterHours: number },
    meta: RequestMeta,
  ): Promise<{ secret: string; activatesAt: Date | null }> {
    const { db, secretBox, webhookObserver } = this.deps
    const secret = newSigningSecret()
    const next = secretBox.seal(secret, endpointSecretContext({ id, accountId }))
    const endpoint = await storeNextSecret(db, accountId, id, { next, activateAfterHours })
    if (!endpoint) throw await this.#refusal(accountId, id, rotateRule)
    webhookObserver.secretRotated({ endpointId: id, accountId }, meta)
    return { secret, activatesAt: endpoint.secretActivatesAt }
  }

  async activate(accountId: string, id: EndpointId, meta: RequestMeta): Promise<Endpoint> {
    const endpoint = await activateNextSecret(this.deps.db, accountId, id)
    if (!endpoint) throw await this.#refusal(accountId, id, () => 'secret.none')
    this.deps.webhookObserver.secretActivated({ endpointId: id, accountId }, meta)
    return endpoint
  }

  async cancel(accountId: string, id: EndpointId, meta: RequestMeta): Promise<Endpoint> {
    const endpoint = await cancelNextSecret(this.deps.db, accountId, id)
    if (!endpoint) throw await this.#refusal(accountId, id, () => 'secret.none')
    this.deps.webhookObserver.secretCancelled({ endpointId: id, accountId }, meta)
    return endpoint
  }

  /** Explains why a statement changed nothing: there is no such endpoint, or it is in another state. */
  async #refusal(
    accountId: string,
    id: EndpointId,
    ruleFor: (endpoint: Endpoint) => Rule,
  ): Promise<AppError> {
    const endpoint = await findEndpoint(this.deps.db, accountId, id)
    return endpoint ? new RuleError(ruleFor(endpoint), { kind: 'conflict' }) : notFound()
  }
}

/** If no next secret is waiting, one has just taken over. */
const rotateRule = ({ secretActivatesAt }: Endpoint): Rule =>
  secretActivatesAt === null ? 'secret.replaced' : 'secret.waiting'
