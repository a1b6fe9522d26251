import { createServer, type ServerResponse } from 'node:http'
import { createLogger, createRegistry } from '@signet/telemetry'
import { listenLocally, TestClock, waitFor, type LocalServer } from '@signet/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createObserver } from '../observers/observer.js'
import { createOutbound } from '../outbound/outbound.js'
import { TemplateSource } from './template-source.js'
import { renderText } from '@signet/mail'

describe('templates fetched by URL (docs/specification.md#emails)', () => {
  let requests = 0
  let lines: string[] = []
  let answer: (res: ServerResponse) => void
  const clock = new TestClock()
  const server = createServer((_req, res) => {
    requests++
    answer(res)
  })
  const outbound = createOutbound({ allowPrivateUrls: true })
  const log = createLogger({ level: 'debug', component: 'test', sink: (line) => lines.push(line) })
  const observer = createObserver(log, createRegistry({ runtime: false }))
  let site: LocalServer
  let url: string
  beforeAll(async () => {
    site = await listenLocally(server)
    url = `${site.origin}/confirm.html`
  })
  afterAll(async () => {
    await outbound.close()
    await site.close()
  })
  beforeEach(() => {
    requests = 0
    lines = []
    answer = (res) => res.end('version 1')
  })

  const aSource = () => new TemplateSource(url, { outbound, observer, now: clock.now })
  async function textOf(source: TemplateSource): Promise<string | undefined> {
    const template = await source.get()
    return template && renderText(template, {})
  }

  it('is fetched once for ten minutes, however many emails go out at once', async () => {
    const source = aSource()
    expect(await Promise.all(Array.from({ length: 20 }, () => textOf(source)))).toEqual(
      Array(20).fill('version 1'),
    )
    clock.advance(599_000)
    await textOf(source)
    expect(requests).toBe(1)
  })

  it('is fetched again after ten minutes without any email waiting for it', async () => {
    const source = aSource()
    await textOf(source)
    const held: ServerResponse[] = []
    answer = (res) => held.push(res)
    clock.advance(600_000)
    expect(await textOf(source)).toBe('version 1')
    await waitFor(() => held.length === 1)
    held[0]?.end('version 2')
    await waitFor(async () => (await textOf(source)) === 'version 2')
    expect(requests).toBe(2)
  })

  it.each<[string, (res: ServerResponse) => void]>([
    ['another status than 200', (res) => res.writeHead(404).end('not found')],
    ['a redirect', (res) => res.writeHead(302, { location: '/other' }).end()],
    ['more than 1 MB', (res) => res.end('x'.repeat(1_000_001))],
    ['an action it does not know', (res) => res.end('{{ if .Data.x }}y{{ end }}')],
    ['a broken connection', (res) => res.destroy()],
  ])('keeps serving the last good copy after %s, and logs', async (_name, how) => {
    const source = aSource()
    await textOf(source)
    answer = how
    clock.advance(600_000)
    await source.get('request-1')
    await waitFor(() => lines.some((line) => line.includes('an email template could not be loaded')))
    expect(lines.join()).toContain('"request_id":"request-1"')
    expect(await textOf(source)).toBe('version 1')
    expect(requests).toBe(2)
  })

  it('is not there while it was never loaded, and is asked for again after ten seconds and not sooner', async () => {
    const source = aSource()
    answer = (res) => res.writeHead(503).end()
    expect(await textOf(source)).toBeUndefined()
    clock.advance(9_999)
    expect(await textOf(source)).toBeUndefined()
    expect(requests).toBe(1)
    clock.advance(1)
    answer = (res) => res.end('at last')
    expect(await textOf(source)).toBe('at last')
    expect(requests).toBe(2)
  })
})
