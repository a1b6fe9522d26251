import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { json } from './support/cli.js'
import { useWorld } from './support/world.js'

const world = useWorld()
const signet = (args: string[], input?: string) =>
  world.machine.run(['api', ...args], { ...world.signedIn(), ...(input === undefined ? {} : { input }) })

describe('api', () => {
  it('prints what the service answers, with the query passed on', async () => {
    const { id, url } = world.service.addHook('https://example.com/hook', [])
    expect(json(await signet(['GET', `/v1/webhooks/${id}?a=1&b=%20`]))).toMatchObject({ item: { id, url } })
    expect(world.service.seen.at(-1)?.url.search).toBe('?a=1&b=%20')
    expect(json(await signet(['delete', `/v1/webhooks/${id}`]))).toEqual({ ok: true })
  })

  it('sends a body from the command line, a file or stdin', async () => {
    const { id } = world.service.addHook('https://example.com/hook', [])
    const path = `/v1/webhooks/${id}`
    const file = join(world.machine.home, 'body.json')
    // Windows begins such files with a mark.
    writeFileSync(file, '\ufeff{"events":["b"]}')
    await signet(['PATCH', path, '--data', '{"events":["a"]}'])
    expect(world.service.hooks[0]?.events).toEqual(['a'])
    await signet(['PATCH', path, '--data', `@${file}`])
    expect(world.service.hooks[0]?.events).toEqual(['b'])
    await signet(['PATCH', path, '--data', '-'], '{"events":["c"]}')
    expect(world.service.hooks[0]?.events).toEqual(['c'])
  })

  it('ends as other commands do when the service refuses', async () => {
    const ended = await signet(['GET', '/v1/webhooks/7', '--json'])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code: 'not_found' } })
  })

  it.each([
    ['another host', ['GET', '//evil.example/v1/webhooks']],
    ['a whole address', ['GET', 'https://evil.example/v1/webhooks']],
    ['a way out of the path', ['GET', '/v1/../oauth/token']],
    ['a way out at the end', ['GET', '/v1/webhooks/..']],
    ['an encoded way out', ['GET', '/v1/%2e%2e/oauth/token']],
    ['another path', ['GET', '/oauth/token']],
    ['a space', ['GET', '/v1/web hooks']],
    ['a method that it does not have', ['TRACE', '/v1/webhooks']],
    ['a body that is no JSON', ['POST', '/v1/webhooks', '--data', '{']],
    ['a body where none can be sent', ['GET', '/v1/webhooks', '--data', '{}']],
    ['a file that is not there', ['POST', '/v1/webhooks', '--data', '@/no/such/file']],
  ])('sends nothing for %s', async (_what, args) => {
    expect((await signet(args)).code).toBe(2)
    expect(world.service.seen).toEqual([])
  })
})
