import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { publicApiDocument } from '../src/api-docs/api-document.js'
import { generatedDocs } from '../src/docs.js'
import { documentChecker, wrongExamples } from '@signet/testkit/open-api'
import { useApi } from './support/api.js'

const api = useApi({ env: () => ({ WEBHOOKS_OAUTH_INTROSPECTION_CLIENTS: 'svcl_docs' }) })

type Response = {
  content?: Record<string, { example?: unknown }>
  links?: Record<string, { operationId: string; parameters: Record<string, string> }>
}
type Operation = {
  operationId: string
  summary: string
  tags: string[]
  parameters: { name: string; in: string }[]
  responses: Record<string, Response>
}
type Document = { openapi: string; servers?: unknown; paths: Record<string, Record<string, Operation>> }

const served = async () => {
  const reply = await api.call('GET', '/openapi.json')
  return { reply, document: JSON.parse(reply.text) as Document }
}
const operations = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

describe('/openapi.json', () => {
  it('is the generated document of the repository, with the address of this deployment', async () => {
    const { reply, document } = await served()
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/)
    expect(document.servers).toEqual([{ url: 'https://hooks.signet.example' }])
    expect(document).toEqual(JSON.parse((await generatedDocs())['docs/openapi.json'] ?? ''))
  })

  it('names only paths and methods that are there', async () => {
    const { document } = await served()
    expect(operations(document).length).toBeGreaterThan(20)
    for (const { path, method } of operations(document)) {
      const reply = await fetch(`${api.url}${path.replace(/\{\w+\}/g, '1')}`, {
        method: method.toUpperCase(),
        redirect: 'manual',
        // The bare address has a page only for browsers.
        headers: { accept: 'text/html' },
      })
      expect([path, method, [404, 405].includes(reply.status)]).toEqual([path, method, false])
    }
  })

  it('links a new endpoint to operations it has, whose parameters are members of the answer', async () => {
    const { document } = await served()
    const known = operations(document)
    const created = document.paths['/v1/webhooks']?.['post']?.responses['200']
    const links = Object.values(created?.links ?? {})
    expect(links.map(({ operationId }) => operationId)).toContain('listDeliveries')
    const example = created?.content?.['application/json']?.example as object
    for (const { operationId, parameters } of links) {
      const target = known.find(({ operation }) => operation.operationId === operationId)
      const inPath = target?.operation.parameters.filter((parameter) => parameter.in === 'path')
      expect(Object.keys(parameters)).toEqual(inPath?.map(({ name }) => name))
      for (const member of Object.values(parameters))
        expect(Object.keys(example)).toContain(member.replace('$response.body#/', ''))
    }
  })

  it('refers only to schemas it has, and describes every operation and its path parameters', async () => {
    const { reply, document } = await served()
    const { components } = document as unknown as { components: { schemas: object; securitySchemes: object } }
    for (const [, name] of reply.text.matchAll(/#\/components\/schemas\/(\w+)/g)) {
      expect(Object.keys(components.schemas)).toContain(name)
    }
    for (const [, name] of reply.text.matchAll(/"security":\[\{"(\w+)"/g)) {
      expect(Object.keys(components.securitySchemes)).toContain(name)
    }
    for (const { path, operation } of operations(document)) {
      expect(operation.summary).not.toBe('')
      const inPath = operation.parameters
        .filter((parameter) => parameter.in === 'path')
        .map(({ name }) => name)
      expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    }
  })

  it('has examples that fit their schemas, and so has the one of the internal API', async () => {
    const internal = JSON.parse((await generatedDocs())['docs/openapi-internal.json'] ?? '') as object
    expect([...wrongExamples((await served()).document), ...wrongExamples(internal)]).toEqual([])
  })

  it('does not mention the internal API', async () => {
    expect((await served()).reply.text).not.toContain('/internal/')
  })
})

describe('/docs', () => {
  it('shows every operation but the pages that only browsers visit', async () => {
    const page = await api.call('GET', '/docs')
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    for (const { path, operation } of operations((await served()).document)) {
      if (operation.tags.includes('Sign-in pages')) continue
      expect(page.text).toContain(`<code>${path}</code>`)
      expect(page.text).toContain(operation.summary)
    }
  })

  it('ends what a member means with a period before its limits', async () => {
    const { text } = await api.call('GET', '/docs')
    expect(text).toContain(
      '<td>https, with a publicly resolvable host; stored exactly as sent. At most 2048 characters.</td>',
    )
  })

  it('loads and runs only what is its own, and sends requests to its own service only', async () => {
    const { text, headers } = await api.call('GET', '/docs')
    const style = /<style>([^]*?)<\/style>/.exec(text)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
    const scripts = [...text.matchAll(/<script[^>]*>/g)].map(([tag]) => tag)
    expect(scripts).toEqual([expect.stringMatching(/^<script src="\/docs\.js\?v=[\w-]{10}" defer>$/)])
    const icons = [...text.matchAll(/<link[^>]*>/g)].map(([tag]) => tag)
    expect(icons).toEqual([expect.stringMatching(/^<link rel="icon" href="\/favicon\.svg" ?\/?>$/)])
    expect(text.replace(scripts[0] ?? '', '').replace(icons[0] ?? '', '')).not.toMatch(
      /<script|<img|<link|<iframe|\ssrc=|\sstyle=|\son\w+=|@import|url\(/i,
    )
    const script = await api.call('GET', '/docs.js')
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  })

  it('links only within the page and this service, and every anchor is there once', async () => {
    const { text } = await api.call('GET', '/docs')
    for (const [, href = ''] of text.matchAll(/href="([^"]*)"/g)) {
      if (href.startsWith('#')) expect(text.split(`id="${href.slice(1)}"`)).toHaveLength(2)
      else expect(new URL(href, 'https://hooks.signet.example').origin).toBe('https://hooks.signet.example')
    }
  })
})

describe('the check that every answer in these tests goes through', () => {
  const fits = documentChecker(publicApiDocument([], 'https://hooks.signet.example'))

  it('refuses an answer that is in no document', () => {
    expect(() => fits('GET', '/v1/webhooks', { status: 200, body: {} })).toThrow('in no document')
    expect(() => fits('GET', '/v1/webhooks', { status: 404, body: {} })).not.toThrow()
  })

  it('refuses an undocumented status, member, format or missing header', async () => {
    const check = documentChecker((await served()).document)
    const list = (status: number, body: unknown, more: Record<string, string> = {}) => {
      const headers = new Headers({ 'content-type': 'application/json', ...more })
      check('GET', '/v1/webhooks?x=1', { status, body, headers })
    }
    expect(() => list(418, {})).toThrow('not documented')
    expect(() => list(200, { items: [{ id: 1 }] })).toThrow('must be string')
    expect(() => list(200, { items: [] })).not.toThrow()
    expect(() => list(200, { items: [], extra: 1 })).toThrow('must NOT have additional properties')
    expect(() => list(401, { error: 'x' })).toThrow('must be object')
    expect(() => list(200, {}, { 'content-type': 'text/html' })).toThrow('no content of type text/html')
    const unavailable = { error: { code: 'unavailable', message: 'x' } }
    expect(() => list(503, unavailable)).toThrow('no header Retry-After')
    expect(() => list(503, unavailable, { 'retry-after': '5' })).not.toThrow()
    const { example } = (await served()).document.paths['/v1/webhooks']?.['get']?.responses['200']?.content?.[
      'application/json'
    ] as { example: { items: { created_at: string }[] } }
    expect(() => list(200, example)).not.toThrow()
    const [item] = example.items
    expect(() => list(200, { items: [{ ...item, created_at: 'today' }] })).toThrow('must match format')
  })
})
