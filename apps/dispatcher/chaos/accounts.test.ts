import { describe, expect, it } from '@jest/globals'
import { compare, STALL_MS, type DeliveryRow, type FaultPeriod, type Observed } from './accounts.js'

const FAULT: FaultPeriod = {
  from: 100_000,
  recorded: new Set(),
  to: 120_000,
  lingersMs: 0,
  repeats: 'counted',
}
const CALM = 60_000

const request = (at: number, answered = true, deliveryId = '1') => ({
  eventId: 'evt_1',
  deliveryId,
  path: '/a',
  at,
  answeredAt: answered ? at + 10 : null,
})

/** The problems that are found with one event of one delivery, which arrived once, after these changes. */
function problems(observed: Partial<Observed>, row: Partial<DeliveryRow> = {}): string[] {
  return compare(
    [
      {
        id: '1',
        event_id: 'evt_1',
        path: '/a',
        status: 1,
        attempts: 1,
        last_error: '',
        timeouts: [],
        ...row,
      },
    ],
    {
      acknowledged: [{ kind: 'complete', eventId: 'evt_1', deliveries: 1, acceptedAt: 0 }],
      refusals: [],
      requests: [request(CALM)],
      faults: [FAULT],
      ...observed,
    },
  ).problems
}

describe('the account of a run', () => {
  it('has no problem with an event that arrived, also after attempts that were not answered', () => {
    expect(problems({})).toEqual([])
    const requests = [request(CALM, false), request(CALM + 1000)]
    expect(problems({ requests }, { attempts: 2 })).toEqual([])
  })

  it.each<[string, Partial<Observed>, Partial<DeliveryRow>]>([
    [
      'instead of 2',
      { acknowledged: [{ kind: 'test', eventId: 'evt_1', deliveries: 2, acceptedAt: 0 }] },
      {},
    ],
    ['stuck', {}, { status: 0 }],
    ['never arrived', { requests: [request(CALM, false)] }, {}],
    ['ended without a reason', {}, { status: 2 }],
    ['a refusal', { refusals: ['a refusal'] }, {}],
  ])('says what is wrong: %s', (words, observed, row) => {
    expect(problems(observed, row)).toEqual([expect.stringContaining(words)])
  })

  describe('a repeat', () => {
    const repeated = (at: number, repeats: FaultPeriod['repeats'] = 'counted', deliveryId = '1') =>
      problems(
        { requests: [request(at), request(at + 5000, true, deliveryId)], faults: [{ ...FAULT, repeats }] },
        { attempts: 2 },
      )

    it('is a problem where no fault explains it', () => {
      expect(repeated(CALM)).toEqual([expect.stringContaining('no fault to explain it')])
      // By then, the jobs that the fault lost have been handed out again.
      expect(repeated(FAULT.to + STALL_MS)).toHaveLength(1)
    })

    it('is explained by a fault before which the first of the two was not recorded yet', () => {
      const repeat = { requests: [request(FAULT.from - 3000), request(FAULT.from + 1000)] }
      expect(problems(repeat, { attempts: 2 })).toEqual([])
      const recorded = { ...FAULT, recorded: new Set(['evt_1 /a']) }
      expect(problems({ ...repeat, faults: [recorded] }, { attempts: 2 })).toHaveLength(1)
    })

    it('is explained by a recorded timeout of the attempt whose answer came too late', () => {
      const requests = [request(CALM), request(CALM + 9000)]
      expect(problems({ requests }, { attempts: 2, timeouts: [[CALM - 5000, CALM]] })).toEqual([])
      expect(problems({ requests }, { attempts: 2, timeouts: [[CALM + 9000, CALM + 14_000]] })).toHaveLength(
        1,
      )
    })

    it('is found by event and endpoint, because each process gives the delivery an id of its own', () => {
      expect(repeated(CALM, 'counted', '2')).toHaveLength(1)
    })

    it('is explained by a fault during which the first of the two was answered, if it may cause any', () => {
      expect(repeated(FAULT.from + 1000)).toEqual([])
      expect(repeated(FAULT.from + 1000, 'never')).toHaveLength(1)
    })
  })

  describe('an attempt that the delivery does not count', () => {
    const uncounted = (at: number, repeats: FaultPeriod['repeats']) =>
      problems({ requests: [request(at, false), request(at + 1000)], faults: [{ ...FAULT, repeats }] })

    it('is a problem, also when results were lost', () => {
      expect(uncounted(CALM, 'uncounted')).toEqual([expect.stringContaining('counts 1 attempts, and 2')])
      expect(uncounted(FAULT.from, 'counted')).toHaveLength(1)
    })

    it('is explained where Redis lost its job', () => {
      expect(uncounted(FAULT.from, 'uncounted')).toEqual([])
    })
  })
})
