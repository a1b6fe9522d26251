import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anAccount, anEndpoint, aSummary, NOW, queuePing, queueSummary } from '@signet/webhook-testkit'
import { newEventId } from '@signet/webhook-core'
import { deleteEndpoint } from '@signet/webhook-core/stores'
import { dispatchEvents } from '../../src/dispatching/dispatch-store.js'
import { findForgottenEvents } from '../../src/events/event-store.js'
import { deliveriesIn } from '../support/deliveries.js'

const database = useWebhooksDatabase()

describe('pings', () => {
  it('go to their one endpoint, whatever it subscribed to', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db, { events: [] })
    await anEndpoint(db, { accountId: endpoint.accountId, events: ['webhook.ping'] })
    const ping = { eventId: newEventId(NOW), accountId: endpoint.accountId, endpointId: endpoint.id }
    await queuePing(db, ping)
    const made = await dispatchEvents(db, [{ id: ping.eventId, body: '{}' }], NOW)
    expect(deliveriesIn(made).map(({ endpointId }) => endpointId)).toEqual([endpoint.id])
  })

  it.each(['disabled', 'deleted'])(
    'are skipped without a row when the endpoint is %s at dispatch',
    async (fate) => {
      const { db } = database
      const endpoint = await anEndpoint(db)
      const ping = { eventId: newEventId(NOW), accountId: endpoint.accountId, endpointId: endpoint.id }
      await queuePing(db, ping)
      if (fate === 'deleted') await deleteEndpoint(db, endpoint.accountId, endpoint.id)
      else
        await db.query(`update webhook_endpoints set status = 2, disabled_at = now() where id = $1`, [
          endpoint.id,
        ])
      expect(await dispatchEvents(db, [{ id: ping.eventId, body: '{}' }], NOW)).toMatchObject({
        created: [],
        unfinished: [],
      })
    },
  )
})

describe('findForgottenEvents', () => {
  it('pages through everything that is queued, each event once', async () => {
    const { db } = database
    const accountId = anAccount()
    const summaries = Array.from({ length: 7 }, () => aSummary({ accountId }))
    for (const summary of summaries) await queueSummary(db, summary)
    const seen: string[] = []
    for (let after; ;) {
      const page = await findForgottenEvents(db, { before: new Date(Date.now() + 1000), after, limit: 3 })
      seen.push(...page.map(({ id }) => id))
      after = page.at(-1)
      if (!after) break
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual(expect.arrayContaining(summaries.map(({ eventId }) => eventId)))
    expect(await findForgottenEvents(db, { before: new Date(Date.now() - 60_000), limit: 10 })).toEqual([])
  })

  it('leaves out those from one time until before another', async () => {
    const { db } = database
    const summary = aSummary({ accountId: anAccount() })
    await queueSummary(db, summary)
    const at = (ms: number) => new Date(ms)
    await db.query('update webhook_events set created_at = $2 where id = $1', [summary.eventId, at(2000)])
    const found = async (from: number, to: number) => {
      const except = { from: at(from), to: at(to) }
      const page = await findForgottenEvents(db, { before: at(9000), except, limit: 10 })
      return page.map(({ id }) => id)
    }
    expect(await found(1000, 2000)).toEqual([summary.eventId])
    expect(await found(2001, 3000)).toEqual([summary.eventId])
    expect(await found(2000, 2001)).toEqual([])
  })
})
