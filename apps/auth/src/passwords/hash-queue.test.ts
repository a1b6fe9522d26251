import { afterAll, describe, expect, it } from '@jest/globals'
import type { HashCaller } from './hash-caller.js'
import { createPasswordHasher, type DirectHasher } from './password-hasher.js'

const hashers: DirectHasher[] = []
afterAll(() => Promise.all(hashers.map((hasher) => hasher.close())))

function aHasher(options: Parameters<typeof createPasswordHasher>[0] = {}): DirectHasher {
  const hasher = createPasswordHasher({ cost: 4, threads: 1, ...options })
  hashers.push(hasher)
  return hasher
}

const someone = (
  { isKnown = false, signal }: { isKnown?: boolean; signal?: AbortSignal } = {},
  key = 'a network',
): HashCaller => ({ client: { key }, isKnown, ...(signal && { signal }) })

it('refuses with Retry-After when it is full, and works again once it is empty', async () => {
  const small = aHasher({ maxQueue: 2 })
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => small.hash('secret')))
  const refused = results.filter((result) => result.status === 'rejected')
  expect(refused).toHaveLength(7) // one runs, two wait
  for (const { reason } of refused)
    expect(reason).toMatchObject({ kind: 'unavailable', code: 'over_capacity', retryAfterSeconds: 5 })
  await expect(small.hash('secret')).resolves.toMatch(/^\$2/)
})

it('drops what is given up while it waits, and makes room for others at once', async () => {
  const small = aHasher({ maxQueue: 5 })
  const given = new AbortController()
  const outcomes = Promise.allSettled(
    Array.from({ length: 6 }, () => small.hash('secret', someone({ signal: given.signal }))),
  )
  await expect(small.hash('secret', someone())).rejects.toMatchObject({ code: 'over_capacity' })
  given.abort()
  const others = await Promise.all(Array.from({ length: 4 }, () => small.hash('secret')))
  expect(others).toHaveLength(4)
  const finished = (await outcomes).map(({ status }) => status === 'fulfilled')
  // The thread finishes the jobs that it already has: one is running and one is next.
  expect(finished).toEqual([true, true, false, false, false, false])
  await expect(small.hash('secret', someone({ signal: given.signal }))).rejects.toMatchObject({
    kind: 'timeout',
  })
})

describe('with wrong passwords in the queue', () => {
  const hasher = aHasher()

  /** Submits `count` wrong passwords, then `others`, and returns the answers in the order they arrived. */
  async function answersBeside(count: number, ...others: (() => Promise<string>)[]): Promise<string[]> {
    const answered: string[] = []
    const wrong = async () => `wrong ${await hasher.firstMatch([null, null], 'wrong')}`
    const all = [...Array.from({ length: count }, () => wrong), ...others]
    await Promise.all(all.map(async (ask) => answered.push(await ask())))
    return answered
  }

  it('answers a right one before their second comparisons', async () => {
    const hash = await hasher.hash('secret')
    const right = async () => `right ${await hasher.firstMatch([hash, null], 'secret')}`
    const answered = await answersBeside(30, right)
    // Every fourth turn goes to a second comparison, so at most 11 of those run among the 31 first ones, and two more may be under way.
    expect(answered.indexOf('right 0')).toBeLessThan(14)
    expect(answered.filter((answer) => answer === 'wrong -1')).toHaveLength(30)
  })

  it('does not keep them waiting forever behind new ones', async () => {
    const hashes = Array.from({ length: 30 }, () => async () => `new ${await hasher.hash('a')}`)
    const answered = await answersBeside(5, ...hashes)
    expect(answered.lastIndexOf('wrong -1')).toBeLessThan(30)
  })

  it('answers those that were compared once and then given up, so that they count as guesses', async () => {
    const given = new AbortController()
    const hash = await hasher.hash('secret')
    const compared = Array.from({ length: 4 }, () =>
      hasher.firstMatch([hash, null], 'wrong', someone({ signal: given.signal })),
    )
    const later = Array.from({ length: 6 }, () => hasher.hash('a'))
    // The thread answers in order, so their first comparisons are over.
    await later[0]
    given.abort()
    await expect(Promise.all(compared)).resolves.toEqual([-1, -1, -1, -1])
    await Promise.all(later)
  })
})

describe('with a flood from many networks', () => {
  /** Labels of jobs in the order in which their promises end: `+` for a result, `-` for a refusal. */
  const log = (flooded: DirectHasher) => {
    const ended: string[] = []
    const jobs: Promise<unknown>[] = []
    const note = (label: string, job: Promise<unknown>) =>
      void jobs.push(
        job.then(
          () => ended.push(`+${label}`),
          (error: unknown) => {
            expect(error).toMatchObject({ kind: 'unavailable', code: 'over_capacity' })
            ended.push(`-${label}`)
          },
        ),
      )
    return {
      ended,
      hash: (label: string, caller: HashCaller) => note(label, flooded.hash('secret', caller)),
      wrong: (label: string, caller: HashCaller) =>
        note(label, flooded.firstMatch([null, null], 'wrong', caller)),
      over: () => Promise.all(jobs),
    }
  }

  it('lets networks take turns: a hundred jobs of one delay another by one', async () => {
    const { hash, ended, over } = log(aHasher({ maxQueue: 200 }))
    for (let n = 0; n < 100; n++) hash('many', someone({}, 'a flood'))
    hash('one', someone({}, 'another'))
    await over()
    // The thread already holds two jobs, and the next turn may belong to the flood.
    expect(ended.indexOf('+one')).toBeLessThanOrEqual(3)
  })

  it.each(['new passwords', 'wrong passwords'])(
    'compares passwords of known networks before strangers have theirs: %s',
    async (flood) => {
      const { hash, wrong, ended, over } = log(aHasher({ maxQueue: 200 }))
      const stranger = flood === 'new passwords' ? hash : wrong
      for (let n = 0; n < 100; n++) stranger('stranger', someone({}, `network ${n}`))
      hash('known', someone({ isKnown: true }, 'home'))
      await over()
      // The thread already holds two jobs, and the next turn may belong to a stranger.
      expect(ended.indexOf('+known')).toBeLessThanOrEqual(3)
    },
  )

  it('lets those of known networks take turns, too, and leaves strangers a part', async () => {
    const { hash, ended, over } = log(aHasher({ maxQueue: 200 }))
    for (let n = 0; n < 100; n++) hash('many', someone({ isKnown: true }, 'one that knows its own account'))
    hash('stranger', someone({}, 'elsewhere'))
    hash('known', someone({ isKnown: true }, 'home'))
    await over()
    expect(ended.indexOf('+known')).toBeLessThanOrEqual(4)
    expect(ended.indexOf('+stranger')).toBeLessThanOrEqual(6)
  })

  it('refuses the newest of the network that has most waiting, at once, and not whoever comes last', async () => {
    const { hash, ended, over } = log(aHasher({ maxQueue: 20 }))
    for (let n = 0; n < 21; n++) hash(`many ${n}`, someone({}, 'a flood'))
    for (let n = 0; n < 5; n++) hash(`one ${n}`, someone({}, `network ${n}`))
    await over()
    expect(ended.slice(0, 5)).toEqual(['-many 20', '-many 19', '-many 18', '-many 17', '-many 16'])
    expect(ended.filter((end) => end.startsWith('-'))).toHaveLength(5)
  })

  it('refuses whoever comes last if all networks have as many waiting', async () => {
    const { hash, ended, over } = log(aHasher({ maxQueue: 20 }))
    for (let n = 0; n < 23; n++) hash(`network ${n}`, someone({}, `network ${n}`))
    await over()
    expect(ended.slice(0, 2)).toEqual(['-network 21', '-network 22'])
  })

  it.each([
    ['strangers', false],
    ['accounts of one person, each in networks that it knows', true],
  ])('counts all that one provider gave out as one, whatever it is cut into: %s', async (_, isKnown) => {
    const { hash, ended, over } = log(aHasher({ maxQueue: 20 }))
    for (let n = 0; n < 100; n++) hash('many', someone({ isKnown }, `2001:db8:${n.toString(16)}:1::/64`))
    hash('one', someone({ isKnown }, '198.51.100.7'))
    hash('neighbor', someone({ isKnown }, '2001:db8:fe00:1::/64'))
    await over()
    expect(ended.indexOf('+one')).toBeGreaterThan(-1)
    // The thread already holds two jobs, and the next turn may belong to the flood or to another class.
    expect(ended.filter((end) => end.startsWith('+')).indexOf('+one')).toBeLessThanOrEqual(3)
    expect(ended.filter((end) => end.startsWith('+')).indexOf('+neighbor')).toBeLessThanOrEqual(8)
  })

  it('has room for those of known networks, however many strangers wait', async () => {
    const { hash, wrong, ended, over } = log(aHasher({ maxQueue: 20 }))
    for (let n = 0; n < 200; n++) wrong('stranger', someone({}, `network ${n}`))
    for (let n = 0; n < 15; n++) hash('known', someone({ isKnown: true }, `home ${n}`))
    await over()
    expect(ended.filter((end) => end === '+known')).toHaveLength(15)
  })

  it('has room for a stranger although wrong passwords of other networks wait for their second comparison', async () => {
    const flooded = aHasher({ maxQueue: 20 })
    let isOver = false
    const attacker = async (key: string) => {
      while (!isOver) {
        await flooded.firstMatch([null, null], 'wrong', someone({}, key)).catch(() => undefined)
        await new Promise(setImmediate)
      }
    }
    const flood = Array.from({ length: 40 }, (_, n) => attacker(`network ${n % 4}`))
    const stranger = () => flooded.hash('secret', someone({}, 'another'))
    try {
      for (let n = 0; n < 30; n++) await expect(stranger()).resolves.toMatch(/^\$2/)
    } finally {
      isOver = true
      await Promise.all(flood)
    }
  })
})
