import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Db } from '@signet/db'
import {
  definitionOf,
  endpointSecretContext,
  newEventId,
  newSigningSecret,
  type EndpointId,
  type EventId,
  type SecretBox,
} from '@signet/webhook-core'
import { queueSummary, queuePing, type TestSummary } from '@signet/webhook-testkit'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import { insertEndpoint, storeNextSecret } from '@signet/webhook-core/stores'

export type SubscriberDeps = { db: Db; secretBox: SecretBox; queues?: WebhookQueues }
export type TestEndpoint = { id: EndpointId; secret: string; url: string }

const CONTENT = {
  recording: { title: 'Weekly sync' },
  summaries: [{ label: 'Summary', content: 'All is well.', format: 'markdown' }],
}

function bodyOf(id: EventId, audioId: string): string {
  return definitionOf('summary.completed').build(
    { id, createdAt: new Date() },
    { audioId, transcript: null, ...CONTENT },
  )
}

/** An account with endpoints and events, made through the same stores that the API uses. */
export class Subscriber {
  constructor(
    private readonly deps: SubscriberDeps,
    readonly accountId: string = randomUUID(),
  ) {}

  /** The same account, seen by an API that cannot reach Redis: events are committed but not published. */
  withoutQueues(): Subscriber {
    const { db, secretBox } = this.deps
    return new Subscriber({ db, secretBox }, this.accountId)
  }

  async endpoint(url: string, events: readonly string[] = ['summary.completed']): Promise<TestEndpoint> {
    const { db, secretBox } = this.deps
    const secret = newSigningSecret()
    const endpoint = await db.transaction((tx) =>
      insertEndpoint(tx, {
        accountId: this.accountId,
        url,
        href: new URL(url).href,
        events,
        maxPerAccount: 100_000,
        seal: (id) => secretBox.seal(secret, endpointSecretContext({ id, accountId: this.accountId })),
      }),
    )
    if (!endpoint) throw new Error('the account cannot have another endpoint')
    return { id: endpoint.id, secret, url }
  }

  /** Stores a secret that will replace the endpoint's current one, and returns it. */
  async nextSecret({ id }: TestEndpoint, activateAfterHours = 24): Promise<string> {
    const { db, secretBox } = this.deps
    const secret = newSigningSecret()
    const next = secretBox.seal(secret, endpointSecretContext({ id, accountId: this.accountId }))
    const stored = await storeNextSecret(db, this.accountId, id, { next, activateAfterHours })
    if (!stored) throw new Error('another secret waits')
    return secret
  }

  /**
   * Commits an event and publishes it, as the API does. The event has a body, as the API freezes one where a notice has every part,
   * unless `parts` says what the recording has.
   */
  async summary({ eventId = newEventId(new Date()), ...parts }: Partial<TestSummary> = {}): Promise<EventId> {
    const hasParts = 'recording' in parts || 'transcript' in parts || 'summaries' in parts
    const audioId = `rec_${eventId.slice(4, 20)}`
    await queueSummary(this.deps.db, {
      accountId: this.accountId,
      audioId,
      ...CONTENT,
      ...(hasParts ? {} : { body: bodyOf(eventId, parts.audioId ?? audioId) }),
      eventId,
      source: 'test',
      sourceEventKey: eventId,
      sourceHash: createHash('sha256').update(randomBytes(8)).digest(),
      ...parts,
    })
    await this.deps.queues?.addEvents([{ id: eventId, accountId: this.accountId }])
    return eventId
  }

  /** Commits events and publishes them together, as the API does with events that arrive at the same time. */
  async summaries(count: number, overrides: (number: number) => Partial<TestSummary> = () => ({})) {
    const ids: EventId[] = []
    for (let number = 0; number < count; number += 1)
      ids.push(await this.withoutQueues().summary(overrides(number)))
    await this.deps.queues?.addEvents(ids.map((id) => ({ id, accountId: this.accountId })))
    return ids
  }

  async ping(endpointId: EndpointId): Promise<EventId> {
    const eventId = newEventId(new Date())
    await queuePing(this.deps.db, { eventId, accountId: this.accountId, endpointId })
    await this.deps.queues?.addEvents([{ id: eventId, accountId: this.accountId }])
    return eventId
  }
}
