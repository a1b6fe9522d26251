import { expect } from '@jest/globals'
import type { Route } from '@signet/http'
import fc from 'fast-check'
import { anEmail, type ApiAnswer, UUID } from './api.js'
import { startServer, type TestServer } from './server.js'

/** Strings that have broken servers before. */
export const nastyText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    'a\0b',
    '\uD800',
    'x\uDFFFy',
    '__proto__',
    'constructor',
    '${7*7}',
    "'; drop table users; --",
  ),
  fc.constantFrom(
    'null',
    'undefined',
    'NaN',
    '-1',
    '1e309',
    '../../etc/passwd',
    '<script>',
    '%00',
    '\r\nX-Injected: 1',
    '🤷‍♀️',
  ),
  fc
    .array(fc.integer({ min: 0, max: 0x10_ff_ff }), { maxLength: 200 })
    .map((points) => String.fromCodePoint(...points)),
  fc.string({ unit: 'grapheme', maxLength: 50 }),
  fc.constant('x'.repeat(100_000)),
)
const nastyValue = fc.oneof(
  nastyText,
  fc.jsonValue({ maxDepth: 4 }),
  fc.double(),
  fc.bigInt().map(Number),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.anything({ maxDepth: 2, withBigInt: false }), { maxLength: 3 }),
  fc.constant(nested(5000)),
)

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** Generates bodies that mix good and bad values for the members of the route, leave some out, and add unknown ones. */
export function bodyOf(route: Route): fc.Arbitrary<string> {
  const { properties } = route.body?.schema as { properties?: Record<string, { type: string }> }
  const members = Object.fromEntries(
    Object.entries(properties ?? {}).map(([name, { type }]) => [
      name,
      fc.oneof(
        {
          weight: 2,
          arbitrary: type === 'string' ? plausible(name) : type === 'boolean' ? fc.boolean() : fc.object(),
        },
        { weight: 1, arbitrary: nastyValue },
      ),
    ]),
  )
  const objects = fc
    .tuple(fc.record(members, { requiredKeys: [] }), fc.dictionary(nastyText, nastyValue, { maxKeys: 3 }))
    .map(([known, unknown]) => safeJson({ ...unknown, ...known }))
  return fc.oneof(
    { weight: 8, arbitrary: objects },
    { weight: 1, arbitrary: nastyText },
    {
      weight: 1,
      arbitrary: fc.constant('{"data":{"__proto__":{"a":1},"constructor":{"prototype":{"b":1}}}}'),
    },
  )
}

const plausible = (name: string): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(
      anEmail(),
      '4915112345678',
      UUID,
      'signup',
      'recovery',
      'correct horse battery',
      'totp',
      '123456',
    ),
    fc.constant(name),
    nastyText,
  )

const headerCharacter = (min: number, max: number) =>
  fc.integer({ min, max }).map((code) => String.fromCharCode(code))

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return '{'
  }
}

/** Generates text that can be sent as the value of a header. */
export const headerValue = fc
  .string({
    unit: fc.oneof(headerCharacter(0x20, 0x7e), headerCharacter(0xa0, 0xff)),
    maxLength: 400,
  })
  .map((text) => text.trim())

/** Generates raw query strings, with repeated names, brackets and broken escapes. */
export function queryOf(names: readonly string[]): fc.Arbitrary<string> {
  const name = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('x', ...names) },
    { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', 'a[b]', 'a[]', '', '%', '%00') },
  )
  const escaped = nastyText.map((text) =>
    encodeURIComponent(text.slice(0, 2000).replace(/\p{Surrogate}/gu, '?')),
  )
  const value = fc.oneof(
    { weight: 3, arbitrary: escaped },
    { weight: 1, arbitrary: fc.constantFrom('%', '%E0%A4%A', '%ff%fe', '%00', 'a=b', '[]', '1e999', '-0') },
  )
  return fc
    .array(fc.tuple(name, value), { maxLength: 4 })
    .map((pairs) => pairs.map(([key, text]) => `${key}=${text}`).join('&'))
}

/** A server with everything switched on, so that bad input gets as far as it can. */
export const startOpenServer = () =>
  startServer({
    AUTH_MAILER_AUTOCONFIRM: 'true',
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    AUTH_SMS_TEST_OTP: '4915112345678:123456',
    AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
    LOG_LEVEL: 'error',
  })

/** Expects no server error, and no word about internals. Only the missing SMS gateway may cause an error. */
export function expectCalmOn({ lines }: TestServer, answer: ApiAnswer, what: string): void {
  const id = answer.headers.get('x-request-id')
  const gatewayIsMissing = lines.some(
    ({ request_id: of, error }) => of === id && /SMS/i.test(JSON.stringify(error)),
  )
  expect([what, answer.status < 500 || gatewayIsMissing]).toEqual([what, true])
  // Style sheets contain SQL keywords, too.
  const text = answer.text.replace(/<style>[^]*?<\/style>/g, '')
  expect(text).not.toMatch(/\n\s+at |node_modules|\/src\/|select |insert into|syntax error/i)
}
