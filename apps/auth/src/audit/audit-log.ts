import { isDeadlock, type Db, type Tx } from '@signet/db'
import { authError } from '../errors/auth-error.js'
import type { Observer } from '../observers/observer.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { JsonObject } from '../users/user.js'
import { auditPayload, type AuditAction, type AuditActor, type AuditPayload } from './audit.js'
import type { AuditStore } from './audit-store.js'
import { RestartError } from '../database/restart-error.js'

export type Audit = (action: AuditAction, actor: AuditActor, traits?: JsonObject) => void

/** What an entry records about the request that caused it. */
type AuditOrigin = Pick<RequestMeta, 'requestId' | 'ip'>

type Deps = {
  db: Db
  store: AuditStore
  observer: Observer
  now: () => Date
  /** False while AUTH_AUDIT_LOG_DISABLE_POSTGRES is set. */
  stored: boolean
}

/**
 * How often a transaction starts again because it needs the lock of one more user. Each attempt begins with the users that the last one
 * lacked, so only an address that keeps changing hands takes several.
 */
const MAX_ATTEMPTS = 20
/**
 * How often a transaction starts again after a deadlock. Users can wait for each other at a unique index, where no order of locks helps, if
 * an address changes hands between two statements. Each deadlock ends one of the transactions and lets the others continue, so this is how
 * many more may want the same address at once.
 */
const MAX_DEADLOCKS = 8

/** Transactions with audit entries (docs/specification.md#audit-log). */
export class AuditLog {
  constructor(private readonly deps: Deps) {}

  /**
   * Runs `work` in a transaction. What it reports through `audit` is written in the same transaction, and logged once
   * that is committed. It runs again after a {@link RestartError} or a deadlock.
   */
  async transaction<T>(meta: AuditOrigin, work: (tx: Tx, audit: Audit) => Promise<T>): Promise<T> {
    let prepare: RestartError['prepare'] = () => undefined
    for (let attempt = 1, deadlocks = 0; ; attempt += 1) {
      try {
        return await this.#attempt(meta, work, prepare)
      } catch (error) {
        if (isDeadlock(error) && (deadlocks += 1) <= MAX_DEADLOCKS) continue
        if (!(error instanceof RestartError)) throw error
        if (attempt === MAX_ATTEMPTS)
          throw authError(
            'conflict',
            'conflict',
            'The resource is being changed by another request, try again',
          )
        ;({ prepare } = error)
      }
    }
  }

  async #attempt<T>(
    meta: AuditOrigin,
    work: (tx: Tx, audit: Audit) => Promise<T>,
    prepare: RestartError['prepare'],
  ): Promise<T> {
    const { db, store, stored, now } = this.deps
    const payloads: AuditPayload[] = []
    const result = await db.transaction(async (tx) => {
      prepare(tx)
      const value = await work(tx, (...entry) => void payloads.push(auditPayload(...entry)))
      if (stored && payloads.length > 0) await store.insert(tx, payloads, meta.ip, now())
      return value
    })
    this.publish(payloads, meta)
    return result
  }

  /** A single entry, for actions that change nothing else. */
  async record(meta: RequestMeta, ...entry: Parameters<Audit>): Promise<void> {
    const { db, store, stored, now } = this.deps
    const payloads = [auditPayload(...entry)]
    if (stored) await store.insert(db, payloads, meta.ip, now())
    this.publish(payloads, meta)
  }

  /** Audit rows to pass to statements that write them themselves; null when none are stored. */
  rowsFor(payloads: readonly AuditPayload[]): string | null {
    return this.deps.stored ? JSON.stringify(payloads) : null
  }

  /** Logs and counts entries once they are committed. */
  publish(payloads: readonly AuditPayload[], meta: AuditOrigin): void {
    for (const payload of payloads) this.deps.observer.audited(payload, meta)
  }
}
