import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { publicApiDocument } from '../src/api-docs/api-document.js'
import { generatedDocs } from '../src/docs.js'
import { documentChecker } from './support/document-checker.js'
import { useApi } from './support/api.js'

const api = useApi({ env: () => ({ WEBHOOKS_OAUTH_INTROSPECTION_CLIENTS: 'svcl_docs' }) })

type Operation = { summary: string; tags: string[]; parameters: { name: string; in: string }[] }
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
    const { servers, ...rest } = document
    expect(servers).toEqual([{ url: 'https://hooks.signet.example' }])
    expect(rest).toEqual(JSON.parse((await generatedDocs())['docs/openapi.json'] ?? ''))
  })

  it('names only paths and methods that are there', async () => {
    const { document } = await served()
    expect(operations(document).length).toBeGreaterThan(20)
    for (const { path, method } of operations(document)) {
      const reply = await fetch(`${api.url}${path.replace(/\{\w+\}/g, '1')}`, {
        method: method.toUpperCase(),
        redirect: 'manual',
      })
      expect([path, method, [404, 405].includes(reply.status)]).toEqual([path, method, false])
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

  it('loads nothing and runs nothing: its own style is all that its policy allows', async () => {
    const { text, headers } = await api.call('GET', '/docs')
    const style = /<style>([^]*?)<\/style>/.exec(text)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
    expect(text).not.toMatch(/<script|<img|<link|<iframe|\ssrc=|\sstyle=|@import|url\(/i)
  })

  it('links only within the page and this service, and every anchor is there once', async () => {
    const { text } = await api.call('GET', '/docs')
    for (const [, href = ''] of text.matchAll(/href="([^"]*)"/g)) {
      if (href.startsWith('#')) expect(text.split(`id="${href.slice(1)}"`)).toHaveLength(2)
      else expect(href).toMatch(/^https:\/\/hooks\.signet\.example\//)
    }
  })
})

describe('the check that every answer in these tests goes through', () => {
  const fits = documentChecker(publicApiDocument([]))

  it('refuses an answer that is in no document', () => {
    expect(() => fits('GET', '/v1/webhooks', 200, {})).toThrow('in no document')
    expect(() => fits('GET', '/v1/webhooks', 404, {})).not.toThrow()
  })

  it('refuses an undocumented status and a body of another shape', async () => {
    const check = documentChecker((await served()).document)
    expect(() => check('GET', '/v1/webhooks?x=1', 418, {})).toThrow('not documented')
    expect(() => check('GET', '/v1/webhooks', 200, { items: [{ id: 1 }] })).toThrow('must be string')
    expect(() => check('GET', '/v1/webhooks', 200, { items: [] })).not.toThrow()
    expect(() => check('GET', '/v1/webhooks', 401, { error: 'x' })).toThrow('must be object')
  })
})
