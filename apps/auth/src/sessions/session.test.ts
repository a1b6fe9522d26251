import { describe, expect, it } from '@jest/globals'
import { isExpired, limitTimesAt, type Session, type SessionLimits } from './session.js'

const MINUTE = 60_000
const SIGNED_IN = new Date('2026-05-01T12:00:00Z')
const after = (ms: number) => new Date(SIGNED_IN.getTime() + ms)

const session: Session = {
  id: 's1',
  userId: 'u1',
  signInId: 's1',
  handedOver: false,
  aal: 'aal1',
  factorId: null,
  passkeyId: null,
  refreshedAt: null,
  notAfter: null,
  revokedAt: null,
  revokedReason: null,
  createdAt: SIGNED_IN,
}
const unlimited: SessionLimits = {
  timeboxMs: undefined,
  inactivityMs: undefined,
  lowAalMs: undefined,
  singlePerUser: false,
}

describe('a session', () => {
  it('without limits lasts forever', () => {
    expect(isExpired(session, unlimited, SIGNED_IN)).toBe(false)
    expect(isExpired(session, unlimited, after(1e12))).toBe(false)
    expect(isExpired({ ...session, refreshedAt: after(MINUTE) }, unlimited, after(1e12))).toBe(false)
  })

  it('ends at the moment that was fixed for it', () => {
    const fixed = { ...session, notAfter: after(MINUTE) }
    expect(isExpired(fixed, unlimited, after(MINUTE - 1))).toBe(false)
    expect(isExpired(fixed, unlimited, after(MINUTE))).toBe(true)
  })

  it('ends when it is older than its timebox, however active', () => {
    const limits = { ...unlimited, timeboxMs: MINUTE }
    const active = { ...session, refreshedAt: after(MINUTE) }
    expect(isExpired(active, limits, after(MINUTE))).toBe(false)
    expect(isExpired(active, limits, after(MINUTE + 1))).toBe(true)
  })

  it('ends when it was inactive too long, counted from the last refresh or else the sign-in', () => {
    const limits = { ...unlimited, inactivityMs: MINUTE }
    expect(isExpired(session, limits, after(MINUTE))).toBe(false)
    expect(isExpired(session, limits, after(MINUTE + 1))).toBe(true)
    const active = { ...session, refreshedAt: after(10 * MINUTE) }
    expect(isExpired(active, limits, after(11 * MINUTE))).toBe(false)
    expect(isExpired(active, limits, after(11 * MINUTE + 1))).toBe(true)
  })
})

describe('the earliest times that limits accept', () => {
  it('are none without limits', () => {
    expect(limitTimesAt(SIGNED_IN, unlimited)).toEqual({
      createdAfter: null,
      activeAfter: null,
      lowAalCreatedAfter: null,
    })
  })

  it('are each limit ago', () => {
    const limits = { ...unlimited, timeboxMs: 3 * MINUTE, inactivityMs: 2 * MINUTE, lowAalMs: MINUTE }
    expect(limitTimesAt(SIGNED_IN, limits)).toEqual({
      createdAfter: after(-3 * MINUTE),
      activeAfter: after(-2 * MINUTE),
      lowAalCreatedAfter: after(-MINUTE),
    })
  })
})
