import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { documentChecker } from './document-checker.js'
import { refuseWrongAnswers } from './watch-answers.js'

const schema = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }
const fits = documentChecker({
  paths: {
    '/things/{id}': {
      get: { responses: { 200: { description: 'One', content: { 'application/json': { schema } } } } },
    },
  },
})

/** Answers a path such as `/things/1 200 {"n":1}` with the status and body that it contains, in two parts. */
const server = createServer((req, res) => {
  const [path, status = '200', ...body] = decodeURIComponent(req.url ?? '').split(' ')
  res.setHeader('Content-Type', path?.startsWith('/pages') ? 'text/html' : 'application/json')
  res.writeHead(Number(status))
  res.write(body.join(' ').slice(0, 3))
  res.end(Buffer.from(body.join(' ').slice(3)))
})
let port = 0
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  ;({ port } = server.address() as AddressInfo)
})
afterAll(() => void server.close())

const endOf = (...answers: string[]) => endAt(port, ...answers)

async function endAt(watched: number, ...answers: string[]): Promise<string> {
  const services = [{ port: watched, basePath: '/base', fits, undocumented: /^\/pages/ }]
  const { end } = refuseWrongAnswers(services, () => 'a test')
  for (const answer of answers) await (await fetch(`http://127.0.0.1:${port}${encodeURI(answer)}`)).text()
  try {
    end()
    return 'fine'
  } catch (error) {
    return (error as Error).message
  }
}

it('passes what the document promises, pages, refusals of what it does not have, and what is not below its base', async () => {
  expect(
    await endOf(
      '/base/things/1 200 {"n":1}',
      '/base/pages/1 200 <p>',
      '/base/nothing 404 {}',
      '/elsewhere 200 {}',
    ),
  ).toBe('fine')
})

it.each([
  ['/base/things/1 200 {"n":"1"}', 'must be integer'],
  ['/base/things/1 200 {"n":1,"secret":"x"}', 'must NOT have additional properties'],
  ['/base/things/1 418 {"n":1}', 'not documented'],
  ['/base/things/1 200 {"n":', 'JSON'],
  ['/base/nothing 200 {}', 'in no document'],
])('names the answer %s, and the test', async (answer, problem) => {
  const message = await endOf(answer)
  expect(message).toContain(problem)
  expect(message).toContain('(in: a test)')
})

it('watches the port of the service, or for port 0 all of them', async () => {
  expect(await endAt(port + 1, '/base/things/1 418 {}')).toBe('fine')
  expect(await endAt(0, '/base/things/1 418 {}')).toContain('not documented')
})

it('watches no longer than it was asked to', async () => {
  const watched = refuseWrongAnswers([{ port, fits, undocumented: /^$/ }], () => undefined)
  watched.end()
  await fetch(`http://127.0.0.1:${port}/things/1%20418%20{}`)
  expect(() => watched.end()).not.toThrow()
})
