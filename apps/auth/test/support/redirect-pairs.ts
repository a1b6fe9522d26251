import { Redirects } from '../../src/redirects/redirects.js'

export type Pair = { pattern: string; url: string }

const PATTERNS = [
  'https://*.*.example.net/**',
  'https://*.example.net/*',
  'https://app.example.net/cb',
  'https://a-*.example.net:*/**',
  'https://*.example.net:8443/**?next=*',
  'http://*.localhost:8000/*',
  'http://127.0.0.1:*/**',
  'http://[::1]:3000/**',
  'https://*.bücher.example/**',
  'https://example.net',
] as const

const HOST_PIECES = [
  'a',
  'b-c',
  'evil.com',
  'example.net',
  'app',
  '127.0.0.1',
  '[::1]',
  'xn--bcher-kva',
  '1',
  '0x7f.1',
  '',
]
const MISCHIEF = [
  ...[
    '?',
    '#',
    '/',
    '\\',
    '@',
    ':',
    '.',
    '%2f',
    '%5c',
    '%00',
    '%23',
    '%3f',
    '%40',
    '。',
    '／',
    '？',
    '＃',
    '\t',
    '\n',
    ' ',
  ],
  ...[
    '//',
    ':443',
    ':8000',
    '.example.net',
    'evil.com',
    'https://',
    'ß',
    'é',
    '\u00ad',
    '\u200d',
    '..',
    '%2e',
    '[',
    ']',
    '|',
    '^',
  ],
]

/** The same numbers each time, so that a pair that fails once fails again (Mulberry32). */
function randomness(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** URLs that follow a pattern, with none to three pieces of mischief put in at any place. */
export function* redirectPairs(count: number, seed: number): Generator<Pair> {
  const random = randomness(seed)
  const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  for (let made = 0; made < count; made += 1) {
    const pattern = one(PATTERNS)
    let url = pattern
      .replace(/:\*\//, `:${1 + Math.floor(random() * 65_535)}/`)
      .replace(/\*{1,2}/g, () => one(HOST_PIECES))
    for (let piece = Math.floor(random() * 4); piece > 0; piece -= 1) {
      const at = Math.floor(random() * (url.length + 1))
      const until = random() < 0.5 ? at : at + Math.floor(random() * 3)
      url = url.slice(0, at) + one(MISCHIEF) + url.slice(until)
    }
    yield { pattern, url }
  }
}

const redirectsOf = new Map(
  PATTERNS.map((pattern) => [
    pattern as string,
    new Redirects({ siteUrl: 'https://site.invalid', uriAllowList: [pattern] }),
  ]),
)

export const isAccepted = ({ pattern, url }: Pair): boolean => redirectsOf.get(pattern)?.accepted(url) != null

/**
 * Whether a pattern names an origin, implemented differently from the server: expressions for each of these
 * few patterns, on what a URL parser has made of the URL.
 */
export function namesOrigin(pattern: string, { protocol, hostname, port }: URL | Origin): boolean {
  const [, scheme = '', host = '', , patternPort = ''] =
    /^(\w+):\/\/(\[.*?\]|[^:/]*)(:(\d+|\*))?/.exec(pattern) ?? []
  const label = '[a-z0-9-]*'
  const expression = host
    .replaceAll('bücher', 'xn--bcher-kva')
    .replace(/[.[\]]/g, '\\$&')
    .replaceAll('*', label)
  const isPort = patternPort === '*' ? /^\d*$/.test(port) : port === patternPort
  return protocol === `${scheme}:` && new RegExp(`^${expression}$`).test(hostname) && isPort
}

export type Origin = { protocol: string; hostname: string; port: string }
