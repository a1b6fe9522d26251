import { describe, expect, it } from '@jest/globals'
import { confirmationUrl, type LinkConfig } from './confirmation-url.js'

const link = { token: 'abc', type: 'signup', redirectTo: 'https://app.dev/a?b=c&d=ü' } as const
const QUERY = 'token=abc&type=signup&redirect_to=https%3A%2F%2Fapp.dev%2Fa%3Fb%3Dc%26d%3D%C3%BC'

function config(
  paths: Partial<LinkConfig['urlPaths']> = {},
  apiExternalUrl = 'https://id.example',
): LinkConfig {
  const urlPaths = { invite: '/verify', confirmation: '/verify', recovery: '/verify', emailChange: '/verify' }
  return { apiExternalUrl, urlPaths: { ...urlPaths, ...paths } }
}

describe('confirmationUrl (docs/specification.md#emails)', () => {
  it('joins external URL and path and percent-encodes token, type and redirect_to, in this order', () => {
    expect(confirmationUrl(config(), 'confirmation', link)).toBe(`https://id.example/verify?${QUERY}`)
  })

  it.each([
    ['invite', 'https://id.example/i'],
    ['confirmation', 'https://id.example/c'],
    ['recovery', 'https://id.example/r'],
    ['magic_link', 'https://id.example/r'],
    ['email_change', 'https://id.example/e'],
  ] as const)('takes the path of its kind: %s', (kind, target) => {
    const paths = { invite: '/i', confirmation: '/c', recovery: '/r', emailChange: '/e' }
    expect(confirmationUrl(config(paths), kind, link)).toBe(`${target}?${QUERY}`)
  })

  it.each([
    ['https://id.example/auth/v1', '/verify', 'https://id.example/auth/v1/verify'],
    ['https://id.example/auth/v1/', 'verify', 'https://id.example/auth/v1/verify'],
    ['https://id.example/auth/v1', '/auth/v1/verify', 'https://id.example/auth/v1/verify'],
    ['https://id.example/auth/v1', '/auth/v10/verify', 'https://id.example/auth/v1/auth/v10/verify'],
    ['https://id.example:8443', '/x/verify', 'https://id.example:8443/x/verify'],
    ['https://id.example', 'https://app.example/confirm', 'https://app.example/confirm'],
  ])('%s with path %s gives %s', (external, path, target) => {
    expect(confirmationUrl(config({ confirmation: path }, external), 'confirmation', link)).toBe(
      `${target}?${QUERY}`,
    )
  })

  it('keeps query and fragment of an absolute URL, the token first', () => {
    const absolute = config({ confirmation: 'https://app.example/?lang=de#/confirm' })
    expect(confirmationUrl(absolute, 'confirmation', link)).toBe(
      `https://app.example/?${QUERY}&lang=de#/confirm`,
    )
  })

  it('lets no value end its parameter', () => {
    const url = confirmationUrl(config(), 'invite', { ...link, token: 'a&type=recovery#x' })
    expect([...new URL(url).searchParams.keys()]).toEqual(['token', 'type', 'redirect_to'])
    expect(new URL(url).searchParams.get('token')).toBe('a&type=recovery#x')
  })
})
