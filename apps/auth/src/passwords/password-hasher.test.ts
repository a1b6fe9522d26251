import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { hashSync as argon2HashSync } from '@node-rs/argon2'
import { afterAll, describe, expect, it } from '@jest/globals'
import { holdsInSomeRun } from '@signet/testkit'
import type { BcryptChoice } from './bcrypt.js'
import type { HashCaller } from './hash-caller.js'
import { createPasswordHasher, type DirectHasher } from './password-hasher.js'

const CHEAP = 4
/** Takes long enough to be compared by the clock: many times as long as handing a job to a thread. */
const COSTLY = 8
const hashers: DirectHasher[] = []
afterAll(() => Promise.all(hashers.map((hasher) => hasher.close())))

function aHasher(options: Parameters<typeof createPasswordHasher>[0] = {}): DirectHasher {
  const hasher = createPasswordHasher({ cost: CHEAP, threads: 1, ...options })
  hashers.push(hasher)
  return hasher
}

const someone = (
  { isKnown = false, signal }: { isKnown?: boolean; signal?: AbortSignal } = {},
  key = 'a network',
): HashCaller => ({ client: { key }, isKnown, ...(signal && { signal }) })

const PASSWORDS = {
  ordinary: 'correct horse battery staple',
  'of several bytes a character': 'pässwörd-пароль-🔑',
  'of 72 bytes': 'x'.repeat(72),
  'with a NUL inside': 'be\0hind',
  'with a lone surrogate': 'half \ud83d pair',
  empty: '',
}

describe.each<BcryptChoice>(['javascript', 'native'])('bcrypt, %s implementation', (bcrypt) => {
  const hasher = aHasher({ bcrypt })
  const other = aHasher({ bcrypt: bcrypt === 'native' ? 'javascript' : 'native' })

  it.each(Object.entries(PASSWORDS))('knows a password again, also one %s', async (_name, password) => {
    const hash = await hasher.hash(password)
    expect(hash).toMatch(/^\$2[aby]\$04\$[./A-Za-z0-9]{53}$/)
    await expect(hasher.verify(hash, password)).resolves.toBe(true)
    await expect(other.verify(hash, password)).resolves.toBe(true)
    await expect(hasher.verify(hash, `${password}!`)).resolves.toBe(false)
    await expect(hasher.verify(hash, password.slice(0, -1) || 'x')).resolves.toBe(false)
  })

  it('tells passwords apart that differ only behind a NUL', async () => {
    const hash = await hasher.hash('be\0hind')
    await expect(hasher.verify(hash, 'be\0fore')).resolves.toBe(false)
    await expect(hasher.verify(hash, 'be')).resolves.toBe(false)
  })

  it('never matches on the first 72 bytes of a longer password', async () => {
    const hash = await hasher.hash('x'.repeat(72))
    await expect(hasher.verify(hash, 'x'.repeat(73))).resolves.toBe(false)
    await expect(hasher.hash('x'.repeat(73))).rejects.toThrow(RangeError)
  })

  it.each(['$2a$', '$2b$', '$2y$'])('verifies a hash with the prefix %s', async (prefix) => {
    const hash = await hasher.hash('secret')
    await expect(hasher.verify(hash.replace(/^\$2[aby]\$/, prefix), 'secret')).resolves.toBe(true)
  })

  it('salts: two hashes of one password differ', async () => {
    expect(await hasher.hash('secret')).not.toBe(await hasher.hash('secret'))
  })
})

describe('PasswordHasher', () => {
  const hasher = aHasher()

  it.each([1, 2])('verifies an imported argon2 hash (algorithm %s)', async (algorithm) => {
    const hash = argon2HashSync('secret', { algorithm, memoryCost: 64, timeCost: 1 })
    await expect(hasher.verify(hash, 'secret')).resolves.toBe(true)
    await expect(hasher.verify(hash, 'Secret')).resolves.toBe(false)
  })

  it("verifies Firebase's published test vector", async () => {
    const signerKey =
      'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=='
    const digest = 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=='
    const hash = `$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=${signerKey}$42xEC+ixf3L2lw==$${digest}`
    await expect(hasher.verify(hash, 'user1password')).resolves.toBe(true)
    await expect(hasher.verify(hash, 'user2password')).resolves.toBe(false)
  })

  it('answers no for a hash it does not know instead of failing', async () => {
    await expect(hasher.verify('', 'secret')).resolves.toBe(false)
    await expect(hasher.verify('secret', 'secret')).resolves.toBe(false)
  })

  it('wants a new hash when the cost or the algorithm is another than the configured one', async () => {
    expect(hasher.needsRehash(await hasher.hash('secret'))).toBe(false)
    expect(hasher.needsRehash(`$2b$12$${'a'.repeat(53)}`)).toBe(true)
    expect(hasher.needsRehash(argon2HashSync('secret', { memoryCost: 64, timeCost: 1 }))).toBe(true)
  })

  it('takes about as long for an unknown user as for a known one', async () => {
    const costly = aHasher({ cost: COSTLY })
    const hash = await costly.hash('secret')
    await holdsInSomeRun(async () => {
      const known: number[] = []
      const unknown: number[] = []
      for (let round = 0; round < 9; round++) {
        known.push(await timeOf(() => costly.verify(hash, 'wrong')))
        unknown.push(await timeOf(() => costly.firstMatch([null], 'wrong')))
      }
      const ratio = median(unknown) / median(known)
      expect(ratio).toBeGreaterThan(0.6)
      expect(ratio).toBeLessThan(1.6)
    })
  })

  it.each([
    ['a bcrypt hash that is cheaper', () => aHasher().hash('secret')],
    ['an argon2 hash', () => argon2HashSync('secret', { memoryCost: 64, timeCost: 1 })],
    ['no hash that it knows', () => 'secret'],
  ])('takes no less for a wrong password than for an unknown user, with %s', async (_, stored) => {
    const costly = aHasher({ cost: COSTLY })
    const hash = await stored()
    await holdsInSomeRun(async () => {
      const [wrong, unknown]: [number[], number[]] = [[], []]
      for (let round = 0; round < 9; round++) {
        wrong.push(await timeOf(() => costly.verify(hash, 'wrong')))
        unknown.push(await timeOf(() => costly.firstMatch([null], 'wrong')))
      }
      expect(median(wrong) / median(unknown)).toBeGreaterThan(0.8)
    })
  })

  it('refuses with Retry-After when the queue is full, and works again once it is empty', async () => {
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
    // What the thread has got is finished: one job runs, and one is next.
    expect(finished).toEqual([true, true, false, false, false, false])
    await expect(small.hash('secret', someone({ signal: given.signal }))).rejects.toMatchObject({
      kind: 'timeout',
    })
  })

  describe('with a queue of wrong passwords', () => {
    /** The answers in their order, for `count` wrong passwords and then the others. */
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
      // Every fourth turn goes to a second comparison, so 31 first ones let at most eleven through, and two may be under way.
      expect(answered.indexOf('right 0')).toBeLessThan(14)
      expect(answered.filter((answer) => answer === 'wrong -1')).toHaveLength(30)
    })

    it('does not keep them waiting for ever behind new ones', async () => {
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
      // The thread holds two already, and the next turn may be that of the flood.
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
        // Behind two jobs of the thread, and perhaps one whose turn it is.
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
      // The thread holds two already, and the next turn may be that of the flood, or of another class.
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

  it('reports what fails in a thread, which lives on', async () => {
    const jobs: string[] = []
    const hasher = aHasher({ observe: (operation, phase) => jobs.push(`${operation} ${phase}`) })
    await expect(hasher.verify(await hasher.hash('a'), undefined as never)).rejects.toThrow(
      'must be of type string',
    )
    await expect(hasher.hash('secret')).resolves.toMatch(/^\$2/)
    expect(jobs.at(-1)).toBe('hash completed')
  })

  it('reports each job once when it is taken and once when it is done', async () => {
    const seen: string[] = []
    const counted = aHasher({ observe: (operation, phase) => seen.push(`${operation} ${phase}`) })
    await counted.verify(await counted.hash('secret'), 'secret')
    expect(seen).toEqual(['hash submitted', 'hash completed', 'verify submitted', 'verify completed'])
  })

  it('leaves the event loop free while all threads hash', async () => {
    const busy = aHasher({ cost: 10, threads: 2 })
    await busy.firstMatch([null], 'warm up')
    const work = Promise.all(Array.from({ length: 4 }, () => busy.firstMatch([null], 'secret')))
    let turns = 0
    let done = false
    void work.then(() => (done = true))
    while (!done) {
      await new Promise((resolve) => setImmediate(resolve))
      turns++
    }
    expect(turns).toBeGreaterThan(100)
  })
})

/** Nice values of this process's threads; field 19 of proc_pid_stat(5), counted behind the name in parentheses. */
const niceOfThreads = () =>
  readdirSync('/proc/self/task').map((id) =>
    Number(readFileSync(`/proc/self/task/${id}/stat`, 'utf8').split(') ')[1]?.split(' ')[16]),
  )

const onLinux = process.platform === 'linux' ? it : it.skip

onLinux('lets the event loop go first, and is not starved by busy programs beside it', async () => {
  const before = niceOfThreads()
  await aHasher().hash('secret')
  const after = niceOfThreads()
  expect(Math.max(...after)).toBeGreaterThan(Math.min(...before))
  // A thread of nice 5 gets a quarter of a core that something else keeps busy, one of nice 19 gets 1.5 %.
  expect(Math.max(...after) - Math.min(...before)).toBeLessThanOrEqual(5)
})

describe('the worker runs however the service was started, and an idle one keeps no process alive', () => {
  const script = (path: string) =>
    `const { createPasswordHasher } = await import(${JSON.stringify(path)})
     const hasher = createPasswordHasher({ cost: 4, threads: 2 })
     console.log(await hasher.verify(await hasher.hash('secret'), 'secret'))`
  const run = (path: string, ...flags: string[]) =>
    promisify(execFile)(process.execPath, [...flags, '--input-type=module', '--eval', script(path)])
  const here = fileURLToPath(new URL('.', import.meta.url))

  it('from the compiled files', async () => {
    const { stdout } = await run(here.replace(/src\/passwords\/$/, 'dist/passwords/password-hasher.js'))
    expect(stdout).toBe('true\n')
  })

  it('from source with a TypeScript loader', async () => {
    const flags = ['--conditions=@signet/source', '--import', 'tsx']
    const { stdout } = await run(`${here}password-hasher.ts`, ...flags)
    expect(stdout).toBe('true\n')
  })
})

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
