import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { localWorld } from '../src/walk.js'
import type { World } from '../src/walkthrough/index.js'
import { removePostgresData } from '../src/index.js'
import { waitUntil } from '../src/wait-until.js'
import { type Starter, startIn } from './support/starter.js'

/** Stands in for all three services, because these tests of the starter need services that die on request. */
const SERVICE = `
  import { createServer } from 'node:http'
  if (process.argv[2] === 'migrate') process.exit(0)
  const { PORT, WEBHOOKS_PORT, DISPATCHER_PORT } = process.env
  const port = Number(PORT ?? DISPATCHER_PORT ?? WEBHOOKS_PORT)
  const server = createServer((request, response) => {
    if (request.url === '/die') { console.error('I was told to.'); process.exit(9) }
    response.end('ok')
  }).listen(port, '127.0.0.1', () => console.log(JSON.stringify({ msg: 'listening', port })))
  process.on('SIGTERM', () => { server.closeAllConnections(); server.close(() => process.exit(0)) })`

/** All tests share one repository, as a developer has one, so that only the first start creates a database. */
let root: string
const roots: string[] = []
beforeAll(() => {
  root = aRepository()
})
afterAll(() => {
  for (const folder of roots.splice(0)) {
    removePostgresData(join(folder, '.data/postgres'))
    rmSync(folder, { recursive: true, force: true })
  }
})

function aRepository(): string {
  const folder = mkdtempSync(join(tmpdir(), 'signet-start-'))
  roots.push(folder)
  for (const app of ['auth', 'webhooks', 'dispatcher']) {
    mkdirSync(join(folder, 'apps', app, 'dist'), { recursive: true })
    writeFileSync(join(folder, 'apps', app, 'package.json'), '{"type":"module"}')
    writeFileSync(join(folder, 'apps', app, 'dist/main.js'), SERVICE)
  }
  return folder
}

const start = (...args: string[]): Starter => startIn(root, args)

function world(folder = root): World {
  const known = localWorld(folder)
  if (!known) throw new Error('no stack was started there')
  return known
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok
  } catch {
    return false
  }
}

/** Waits until every port that the output names is free again: services, tools, PostgreSQL and Redis are gone. */
async function expectNothingLeft(output: string): Promise<void> {
  const ports = new Set(
    [...output.matchAll(/(?:on port |127\.0\.0\.1:|localhost:)(\d+)/g)].map((match) => Number(match[1])),
  )
  expect(ports.size).toBeGreaterThanOrEqual(5)
  for (const port of ports) {
    await waitUntil(async () => (await canListen(port)) || undefined, {
      describe: `end of the process that holds port ${port}`,
    })
  }
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

const UP = 'Ctrl-C stops everything'
const TAKEN = 'port 8081 (auth) is taken; using'

/** Starts while port 8081 is taken, by this test or by another program. Tries again if that program frees it too early. */
async function startWhileTaken(): Promise<Starter> {
  const other = createServer().listen(8081, '127.0.0.1')
  const held = await once(other, 'listening').then(
    () => true,
    () => false,
  )
  const starter = start('--no-demo')
  try {
    await starter.said(UP)
  } finally {
    if (held) other.close()
  }
  if (held || starter.output().includes(TAKEN)) return starter
  starter.process.kill('SIGTERM')
  await starter.exitCode
  return startWhileTaken()
}

describe('npm start', () => {
  it('stops everything on SIGINT, on SIGTERM, and when a service dies, each beside others', async () => {
    const folders = [root, aRepository(), aRepository()] as const
    const starters = folders.map((folder) => startIn(folder, ['--no-demo']))
    await Promise.all(starters.map((starter) => starter.said(UP)))
    const urls = folders.flatMap((folder) => {
      const { auth, webhooks, internal, inbox } = world(folder)
      return [auth, webhooks, internal, inbox]
    })
    expect(new Set(urls).size).toBe(urls.length)
    const [interrupted, terminated, bereft] = starters as [Starter, Starter, Starter]

    interrupted.process.kill('SIGINT')
    expect(await interrupted.exitCode).toBe(0)
    await expectNothingLeft(interrupted.output())
    expect(await answers(world(folders[1]).auth)).toBe(true)

    terminated.process.kill('SIGTERM')
    expect(await terminated.exitCode).toBe(0)
    await expectNothingLeft(terminated.output())

    await answers(`${world(folders[2]).webhooks}/die`)
    expect(await bereft.exitCode).toBe(1)
    expect(bereft.output()).toMatch(/webhooks ended by itself \(exit code 9\):\n.*\nI was told to\./)
    await expectNothingLeft(bereft.output())
  })

  it('takes the next port when one is taken, leaves no process when it is killed with -9, and starts again at once with the same secrets', async () => {
    const first = await startWhileTaken()
    expect(first.output()).toContain(TAKEN)
    const { internalToken, auth } = world()
    expect(new URL(auth).port).not.toBe('8081')
    expect(await answers(auth)).toBe(true)
    first.process.kill('SIGKILL')
    const second = start('--no-demo')
    await second.said(UP)
    expect(world().internalToken).toBe(internalToken)
    second.process.kill('SIGKILL')
    await second.exitCode
    await expectNothingLeft(second.output())
  })

  it('does not count a service as started before that service says so, whatever answers on its port', async () => {
    const silent = `import { createServer } from 'node:http'
      if (process.argv[2] === 'migrate') process.exit(0)
      createServer((request, response) => response.end('ok')).listen(Number(process.env.PORT), '127.0.0.1', () => {
        setInterval(() => {}, 1000)
      })`
    const main = join(root, 'apps/auth/dist/main.js')
    writeFileSync(main, silent)
    const starter = start('--no-demo')
    try {
      await starter.said('✓ dispatcher')
      expect(starter.output()).not.toContain('✓ auth')
    } finally {
      starter.process.kill('SIGKILL')
      await starter.exitCode
      writeFileSync(main, SERVICE)
    }
  })

  it('with --once names the step of the walk-through that failed and ends with 1; with --reset it forgets everything first', async () => {
    const first = start('--once')
    expect(await first.exitCode).toBe(1)
    expect(first.output()).toMatch(/Step a \(A person signs up\) failed: /)
    const { internalToken, auth } = world()
    expect(await answers(auth)).toBe(false)
    const second = start('--once', '--reset')
    await second.exitCode
    expect(second.output()).toContain('wiped the data of earlier runs')
    expect(world().internalToken).not.toBe(internalToken)
  })

  it.each([
    [['--help'], 0, 'npm start -- --reset'],
    [['--demo'], 2, 'npm start -- --no-demo'],
    [['--once', '--no-demo'], 2, 'cannot be combined with'],
  ])(
    'explains itself on %s with exit code %d, in a clone where nothing is installed',
    (args, code, words) => {
      const clone = join(root, 'infra/local')
      mkdirSync(clone, { recursive: true })
      for (const file of ['start.mjs', 'start-options.mjs', 'arguments.mjs', 'bootstrap.mjs', 'lock.mjs'])
        copyFileSync(new URL(`../${file}`, import.meta.url), join(clone, file))
      const { status, stdout } = spawnSync(process.execPath, [join(clone, 'start.mjs'), ...args], {
        encoding: 'utf8',
      })
      expect([status, stdout]).toEqual([code, expect.stringContaining(words)])
      expect(stdout).not.toContain('installing')
    },
  )
})
