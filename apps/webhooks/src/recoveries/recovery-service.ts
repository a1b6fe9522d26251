import type { Db } from '@signet/db'
import type { RequestMeta } from '@signet/telemetry'
import { endpointStatus } from '@signet/webhook-core'
import { findEndpoint, type RecoveryScope } from '@signet/webhook-core/stores'
import type { LogOwner } from '../deliveries/delivery-row.js'
import { notFound } from '../errors/api-errors.js'
import { RuleError, type Rule } from '../errors/rule-error.js'
import type { WebhookObserver } from '../observers/webhook-observer.js'
import {
  cancelRecovery,
  findRecovery,
  insertRecovery,
  listRecoveries,
  type ListedRecovery,
  type Recovery,
  type RecoveryId,
} from './recovery-store.js'

type Deps = { db: Db; webhookObserver: WebhookObserver }

/** Maximum number of deliveries that one recovery can match. */
export const MAX_MATCHED = 100_000

/**
 * Creates recoveries, which send the events again that an endpoint missed. The dispatcher does the sending
 * (docs/specification.md#recovering).
 */
export class RecoveryService {
  constructor(private readonly deps: Deps) {}

  async start(
    owner: LogOwner,
    wanted: { what: RecoveryScope; since: string; until: string | undefined },
    meta: RequestMeta,
  ): Promise<Recovery> {
    const { db, webhookObserver } = this.deps
    const endpoint = await findEndpoint(db, owner.accountId, owner.endpointId)
    if (!endpoint) throw notFound()
    if (endpoint.status === endpointStatus.disabled) throw conflict('endpoint.disabled')
    const made = await db.transaction((tx) => insertRecovery(tx, { ...owner, ...wanted, limit: MAX_MATCHED }))
    if (made.kind === 'gone') throw notFound()
    if (made.kind === 'no_time') throw new RuleError('recovery.time')
    if (made.kind === 'running' || made.kind === 'started')
      throw conflict(`recovery.${made.kind}`, { id: made.id })
    if (made.kind === 'too_many') throw new RuleError('recovery.too-many', { values: { max: MAX_MATCHED } })
    webhookObserver.recoveryStarted({ ...owner, recoveryId: made.id }, meta)
    return this.get(owner, made.id)
  }

  /** Returns a page of recoveries, newest first. `next` is null at the end. */
  async list(
    owner: LogOwner,
    { before, limit }: { before: RecoveryId | null; limit: number },
  ): Promise<{ items: ListedRecovery[]; next: RecoveryId | null }> {
    const found = await listRecoveries(this.deps.db, owner, { before, limit: limit + 1 })
    const items = found.slice(0, limit)
    return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
  }

  async get(owner: LogOwner, id: RecoveryId): Promise<Recovery> {
    const recovery = await findRecovery(this.deps.db, owner, id)
    if (!recovery) throw notFound()
    return recovery
  }

  async cancel(owner: LogOwner, id: RecoveryId, meta: RequestMeta): Promise<Recovery> {
    const cancelled = await cancelRecovery(this.deps.db, owner, id)
    const recovery = await this.get(owner, id)
    if (!cancelled) throw conflict('recovery.over', { state: recovery.state })
    this.deps.webhookObserver.recoveryCancelled({ ...owner, recoveryId: id }, meta)
    return recovery
  }
}

const conflict = (rule: Rule, values = {}) => new RuleError(rule, { kind: 'conflict', values })
