import { describe, expect, it } from '@jest/globals'
import { setImmediate as turn } from 'node:timers/promises'
import { AdmissionWindow, type Admission } from './admission-window.js'

/** A window of a fixed size, however fast deliveries are sent. */
const windowOf = (deliveries: number) => new AdmissionWindow({ min: deliveries, max: deliveries })

/** Asks for admission `times` times, by default for a new account each time. The returned list grows as they are admitted. */
function admitted(window: AdmissionWindow, times: number, accountId?: string): Admission[] {
  const admissions: Admission[] = []
  for (let i = 0; i < times; i += 1)
    void window.admit(accountId ?? `account-${i}`).then((admission) => admissions.push(admission))
  return admissions
}

/** Shows the window that an event of each of these accounts becomes this many deliveries. */
async function teach(
  window: AdmissionWindow,
  accounts: readonly string[],
  deliveries: number,
): Promise<void> {
  for (const accountId of accounts) {
    const admission = await window.admit(accountId)
    admission.resize(deliveries)
    admission.release()
  }
}

describe('AdmissionWindow', () => {
  it('admits as many events as fit, and the next one when one is released', async () => {
    const admissions = admitted(windowOf(12), 5)
    await turn()
    expect(admissions).toHaveLength(3)
    admissions[0]?.release()
    await turn()
    expect(admissions).toHaveLength(4)
    admissions[0]?.release()
    await turn()
    expect(admissions).toHaveLength(4)
  })

  it('counts the deliveries an event turned into, and frees what it does not need', async () => {
    const window = windowOf(4)
    const big = await window.admit('account')
    big.resize(4)
    const admissions = admitted(window, 1, 'account')
    await turn()
    expect(admissions).toHaveLength(0)
    big.resize(0)
    await turn()
    expect(admissions).toHaveLength(1)
  })

  it('frees one share for each delivery that was sent, and never more than the event had', async () => {
    const window = windowOf(2)
    const admission = await window.admit('account')
    admission.resize(2)
    const next = admitted(window, 3)
    admission.sent()
    await turn()
    expect(next).toHaveLength(1)
    for (let i = 0; i < 5; i += 1) admission.sent()
    admission.release()
    await turn()
    expect(next).toHaveLength(2)
  })

  it('expects an event of an account to be as large as its recent ones', async () => {
    const window = windowOf(100)
    for (let i = 0; i < 100; i += 1) {
      const admission = await window.admit('account')
      admission.resize(10)
      admission.release()
    }
    const admissions = admitted(window, 100, 'account')
    await turn()
    expect(admissions.length).toBeGreaterThanOrEqual(7)
    expect(admissions.length).toBeLessThanOrEqual(9)
  })

  it('expects of one account what its own events needed, not those of others', async () => {
    const window = windowOf(100)
    await teach(window, ['many endpoints'], 50)
    await teach(window, ['one endpoint'], 1)
    const others = admitted(window, 60, 'one endpoint')
    await turn()
    expect(others).toHaveLength(60)
  })

  it('admits a few events of an account that it does not know, and more once one of them was read', async () => {
    const window = windowOf(100)
    const admissions = admitted(window, 60, 'new')
    await turn()
    expect(admissions).toHaveLength(19)
    for (const admission of [...admissions]) admission.resize(1)
    await turn()
    expect(admissions).toHaveLength(60)
  })

  it('expects something also of an account whose events have no endpoints', async () => {
    const window = windowOf(100)
    for (let i = 0; i < 100; i += 1) {
      const admission = await window.admit('account')
      admission.resize(0)
      admission.release()
    }
    const admissions = admitted(window, 1000, 'account')
    await turn()
    expect(admissions.length).toBeLessThanOrEqual(400)
  })

  it('admits an event that is larger than the whole window', async () => {
    const window = windowOf(1)
    const admission = await window.admit('account')
    admission.resize(50)
    const next = admitted(window, 1)
    await turn()
    expect(next).toHaveLength(0)
    admission.release()
    await turn()
    expect(next).toHaveLength(1)
  })

  it('never has more than fits and one event of each account in it, however many deliveries events are', async () => {
    const accounts = ['a', 'b', 'c']
    const window = windowOf(100)
    await teach(window, accounts, 50)
    const waiting: Admission[] = []
    const admit = async (accountId: string) => {
      const admission = await window.admit(accountId)
      admission.resize(50)
      waiting.push(...Array.from({ length: 50 }, () => admission))
    }
    for (let events = 0; events < 100; events += 1) for (const accountId of accounts) void admit(accountId)
    const sizes: number[] = []
    for (await turn(); waiting.length > 0; await turn()) {
      sizes.push(waiting.length)
      waiting.shift()?.sent()
    }
    expect(sizes).toHaveLength(50 * 300)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100 + 50 * accounts.length)
  })

  it('keeps a quarter free of one account, whatever it has in it', async () => {
    const window = windowOf(100)
    await teach(window, ['a', 'b'], 1)
    expect(await numberOf(admitted(window, 200, 'a'))).toBe(75)
    expect(await numberOf(admitted(window, 10, 'b'))).toBe(10)
  })

  it('keeps some of it free of an account whose events turn out to be many deliveries', async () => {
    const window = windowOf(16)
    await teach(window, ['a'], 1)
    const admissions = admitted(window, 12, 'a')
    await turn()
    for (const admission of admissions) admission.resize(50)
    const others = admitted(window, 2, 'b')
    await turn()
    others[0]?.resize(1)
    expect(await numberOf(others)).toBe(2)
    for (const other of others) other.release()
    // The account gets more only once most of its deliveries were sent.
    const more = admitted(window, 1, 'a')
    for (const admission of admissions) for (let sent = 0; sent < 40; sent += 1) admission.sent()
    expect(await numberOf(more)).toBe(0)
    for (const admission of admissions) for (let sent = 0; sent < 10; sent += 1) admission.sent()
    expect(await numberOf(more)).toBe(1)
  })

  it('admits an event of another account also if it has become smaller than what one account holds', async () => {
    let nowMs = 0
    const window = new AdmissionWindow({ min: 16, max: 48, now: () => nowMs })
    const sendOne = async () => {
      const admission = await window.admit('c')
      admission.sent()
      admission.release()
    }
    for (let sent = 0; sent < 100; sent += 1) {
      nowMs += 1
      await sendOne()
    }
    await teach(window, ['a', 'b'], 1)
    expect(await numberOf(admitted(window, 100, 'a'))).toBe(36)
    nowMs += 1000
    await sendOne()
    expect(await numberOf(admitted(window, 1, 'a'))).toBe(0)
    expect(await numberOf(admitted(window, 2, 'b'))).toBe(2)
  })

  it('admits it also if an event of one account was expected to be larger than it', async () => {
    const window = windowOf(16)
    const large = await window.admit('a')
    large.resize(1000)
    for (let sent = 0; sent < 999; sent += 1) large.sent()
    expect(await numberOf(admitted(window, 2, 'a'))).toBe(1)
    expect(await numberOf(admitted(window, 1, 'b'))).toBe(1)
  })

  const numberOf = async (admissions: Admission[]) => {
    await turn()
    return admissions.length
  }

  it('is as large as what is sent within 80 ms, between its minimum and maximum', async () => {
    let nowMs = 0
    const window = new AdmissionWindow({ min: 10, max: 50, now: () => nowMs })
    await teach(
      window,
      Array.from({ length: 100 }, (_, i) => `account-${i}`),
      1,
    )
    /** Returns how many events the window admits after some time at this rate, in deliveries per second. */
    const admittedAt = async (perSecond: number) => {
      for (let sent = 0; sent < perSecond / 5; sent += 1) {
        nowMs += 1000 / perSecond
        const admission = await window.admit('account')
        admission.resize(1)
        admission.sent()
        admission.release()
      }
      const admissions = admitted(window, 100)
      await turn()
      const count = admissions.length
      // Releasing one admission admits the next event, which is then released as well.
      for (let released = 0; released < admissions.length; released += 1) {
        admissions[released]?.release()
        await turn()
      }
      return count
    }
    expect(await admittedAt(375)).toBe(30)
    expect(await admittedAt(50)).toBe(10)
    expect(await admittedAt(10_000)).toBe(50)
  })
})
