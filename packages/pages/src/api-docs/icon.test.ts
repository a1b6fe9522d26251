import { describe, expect, it } from '@jest/globals'
import { SIGNET } from '@signet/brand'
import { html } from '../html.js'
import { docsAnswer } from './index.js'

const pageAt = (baseUrl: string, icon?: string): string =>
  String(
    docsAnswer({
      title: 'API',
      brand: SIGNET,
      icon,
      baseUrl,
      introduction: html``,
      routes: [],
      tags: [],
      schemas: {},
      pathParameters: {},
      securitySchemes: {},
    }).body,
  )

describe('the icon of the API page', () => {
  it.each([
    ['https://api.example', '/favicon.svg'],
    ['https://api.example/', '/favicon.svg'],
    ['https://api.example/base', '/base/favicon.svg'],
  ])('of a service at %s is at %s', (baseUrl, href) => {
    expect(pageAt(baseUrl, '/favicon.svg')).toContain(`<link rel="icon" href="${href}" />`)
  })

  it('is named only where there is one', () => {
    expect(pageAt('https://api.example')).not.toContain('rel="icon"')
  })
})
