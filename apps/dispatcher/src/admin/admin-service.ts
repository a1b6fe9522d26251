import type { Queryable } from '@signet/db'
import {
  parseDeliveryId,
  parseEndpointId,
  parseEventId,
  type DeliveryId,
  type EndpointId,
  type EventId,
} from '@signet/webhook-core'
import {
  findEndpointHealth,
  listEndpoints,
  type Endpoint,
  type EndpointHealth,
} from '@signet/webhook-core/stores'
import { listAttempts, type Attempt } from '../deliveries/attempt-store.js'
import { findBodies } from '../events/event-store.js'
import { findAccountState, type AccountState } from '../operations/account-store.js'
import type { Inspected, Operations, Status } from '../operations/operations.js'
import type { DisabledEndpoint } from '../operations/operator-store.js'
import type { BacklogHistory, Sample } from './backlog-history.js'
import {
  findEndpointReport,
  findEvent,
  listDeliveriesOfEndpoint,
  listDeliveriesOfEvent,
  listEventsOfAccount,
  listFailingEndpoints,
  type AccountEvent,
  type DeliveryLine,
  type EndpointReport,
  type EventReport,
} from './admin-store.js'
import { SHOWN } from './shown.js'

export type AdminServiceDeps = {
  /** Read-only, and separate from the pool for deliveries, so that a slow page takes no connection from them. */
  db: Queryable
  operations: Pick<Operations, 'status' | 'inspect' | 'disabled' | 'eventJob'>
  history: BacklogHistory
  now: () => Date
}

export type Overview = {
  status: Status
  failing: EndpointReport[]
  disabled: DisabledEndpoint[]
  samples: readonly Sample[]
}
export type EventDetail = {
  event: EventReport
  deliveries: DeliveryLine[]
  attempts: Attempt[]
  /** State of the job of an event that is not dispatched yet. */
  job: string | null
}
export type EndpointDetail = {
  endpoint: EndpointReport
  health: EndpointHealth | null
  deliveries: DeliveryLine[]
}
export type AccountDetail = {
  accountId: string
  state: AccountState | null
  endpoints: Endpoint[]
  events: AccountEvent[]
}
export type Hit = { kind: 'events' | 'deliveries' | 'endpoints' | 'accounts'; id: string }

const DAYS_OF_DISABLED = 7
const DAY_MS = 86_400_000
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** What operators can look up. Changes nothing. */
export class AdminService {
  constructor(private readonly deps: AdminServiceDeps) {}

  async overview(): Promise<Overview> {
    const { db, operations, history, now } = this.deps
    const [status, failing, disabled] = await Promise.all([
      operations.status(),
      listFailingEndpoints(db, SHOWN),
      operations.disabled(new Date(now().getTime() - DAYS_OF_DISABLED * DAY_MS), SHOWN),
    ])
    return { status, failing, disabled, samples: history.samples }
  }

  async event(id: EventId): Promise<EventDetail | null> {
    const { db, operations } = this.deps
    const event = await findEvent(db, id)
    if (!event) return null
    const deliveries = await listDeliveriesOfEvent(db, id, SHOWN)
    const attempts = await listAttempts(
      db,
      deliveries.map((delivery) => delivery.id),
    )
    const job = event.state === 'queued' ? await operations.eventJob(id) : null
    return { event, deliveries, attempts, job }
  }

  /** The body as it is sent; null if there is none (anymore). */
  async payload(id: EventId): Promise<string | null> {
    const [found] = await findBodies(this.deps.db, [id])
    return found?.body ?? null
  }

  delivery(id: DeliveryId): Promise<Inspected | null> {
    return this.deps.operations.inspect(id)
  }

  async endpoint(id: EndpointId): Promise<EndpointDetail | null> {
    const { db } = this.deps
    const endpoint = await findEndpointReport(db, id)
    if (!endpoint) return null
    const [health, deliveries] = await Promise.all([
      findEndpointHealth(db, { accountId: endpoint.accountId, endpointId: id }),
      listDeliveriesOfEndpoint(db, id, SHOWN),
    ])
    return { endpoint, health, deliveries }
  }

  /** Null if no row belongs to the account. */
  async account(accountId: string): Promise<AccountDetail | null> {
    if (!UUID.test(accountId)) return null
    const { db } = this.deps
    const [state, endpoints, events] = await Promise.all([
      findAccountState(db, accountId),
      listEndpoints(db, accountId),
      listEventsOfAccount(db, accountId, SHOWN),
    ])
    if (!state && endpoints.length === 0 && events.length === 0) return null
    return { accountId, state, endpoints, events }
  }

  /** Finds what an id names. A number may name both a delivery and an endpoint. */
  async search(text: string): Promise<Hit[]> {
    const wanted = text.trim().toLowerCase()
    const event = parseEventId(wanted)
    if (event) return (await findEvent(this.deps.db, event)) ? [{ kind: 'events', id: event }] : []
    if (UUID.test(wanted)) return (await this.account(wanted)) ? [{ kind: 'accounts', id: wanted }] : []
    // Accepts job ids as well, as the queues and the logs of Redis show them.
    const number = wanted.replace(/^dlv_/, '')
    const [delivery, endpoint] = [parseDeliveryId(number), parseEndpointId(wanted)]
    const [ofDelivery, ofEndpoint] = await Promise.all([
      delivery && this.delivery(delivery),
      endpoint && findEndpointReport(this.deps.db, endpoint),
    ])
    return [
      ...(delivery && ofDelivery ? [{ kind: 'deliveries', id: delivery } as const] : []),
      ...(endpoint && ofEndpoint ? [{ kind: 'endpoints', id: endpoint } as const] : []),
    ]
  }
}
