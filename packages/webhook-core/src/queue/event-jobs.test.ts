import { describe, expect, it } from '@jest/globals'
import { newEventId } from '../ids.js'
import { divideIntoJobs, eventsJobId, MAX_EVENTS_PER_JOB, type EventToPublish } from './event-jobs.js'

const eventsOf = (accountId: string, count: number): EventToPublish[] =>
  Array.from({ length: count }, () => ({ id: newEventId(new Date()), accountId }))

/** The accounts of each job's events. */
const accountsOf = (jobs: ReturnType<typeof divideIntoJobs>) =>
  jobs.map(({ events, priority }) => [priority, events.map(({ accountId }) => accountId).join('')])

describe('divideIntoJobs', () => {
  it('puts events of all accounts within their allowances into one job, in their order', () => {
    const events = [...eventsOf('a', 2), ...eventsOf('b', 1), ...eventsOf('a', 1)]
    const jobs = divideIntoJobs(events, () => 0)
    expect(accountsOf(jobs)).toEqual([[0, 'aaba']])
    expect(jobs[0]?.events.map(({ eventId }) => eventId)).toEqual(events.map(({ id }) => id))
  })

  it('gives an account beyond its allowance jobs that no other account waits for', () => {
    const events = [...eventsOf('a', 3), ...eventsOf('b', 2), ...eventsOf('c', 1)]
    const debts = [0, 7, 8, 0, 3, 0]
    const jobs = divideIntoJobs(events, (event) => debts[events.indexOf(event)] ?? 0)
    expect(accountsOf(jobs)).toEqual([
      [0, 'abc'],
      [8, 'aa'],
      [3, 'b'],
    ])
  })

  it('fills a job before the next one, and names each after its first event', () => {
    const events = eventsOf('a', 2 * MAX_EVENTS_PER_JOB + 1)
    const jobs = divideIntoJobs(events, () => 0)
    expect(jobs.map(({ events }) => events.length)).toEqual([MAX_EVENTS_PER_JOB, MAX_EVENTS_PER_JOB, 1])
    expect(jobs.map(({ events }) => eventsJobId(events))).toEqual([
      `list_${events[0]?.id}`,
      `list_${events[MAX_EVENTS_PER_JOB]?.id}`,
      events.at(-1)?.id,
    ])
  })

  it('says how large an event is, if it is large', () => {
    const [small, large] = eventsOf('a', 2).map((event, i) => ({ ...event, bytes: (i + 1) * 200_000 }))
    const [job] = divideIntoJobs([small, large] as EventToPublish[], () => 0)
    expect(job?.events).toEqual([
      { eventId: small?.id, accountId: 'a' },
      { eventId: large?.id, accountId: 'a', bytes: 400_000 },
    ])
  })

  it('takes an event once', () => {
    const [event] = eventsOf('a', 1) as [EventToPublish]
    expect(divideIntoJobs([event, event], () => 0)).toEqual([
      { priority: 0, events: [{ eventId: event.id, accountId: 'a' }] },
    ])
  })
})
