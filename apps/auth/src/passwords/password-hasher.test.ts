import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { hashSync as argon2HashSync } from '@node-rs/argon2'
import { afterAll, describe, expect, it } from '@jest/globals'
import { holdsInSomeRun } from '@signet/testkit'
import { median } from '@signet/testkit/bench'
import type { BcryptChoice } from './bcrypt.js'
import { createPasswordHasher, type DirectHasher } from './password-hasher.js'

const CHEAP = 4
/** Slow enough to time reliably: one hash takes many times as long as handing a job to a thread. */
const COSTLY = 8
const hashers: DirectHasher[] = []
afterAll(() => Promise.all(hashers.map((hasher) => hasher.close())))

function aHasher(options: Parameters<typeof createPasswordHasher>[0] = {}): DirectHasher {
  const hasher = createPasswordHasher({ cost: CHEAP, threads: 1, ...options })
  hashers.push(hasher)
  return hasher
}

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

/** Nice values of this process's threads: field 19 of proc_pid_stat(5), found by counting from the end of the name in parentheses. */
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
