import { isUtf8 } from 'node:buffer'
import { Redirects } from '../../src/redirects/redirects.js'

/** The parts of a URL, as a URL parser returns them. */
export type Parts = Pick<URL, 'protocol' | 'hostname' | 'port' | 'pathname' | 'search' | 'username'>

export type Pair = {
  pattern: string
  url: string
  /** Whether the pattern is meant to match a URL with these parts. */
  means: (parts: Parts) => boolean
}

/**
 * A piece of a pattern as an operator writes it, and a regular expression for what it means. The expression is written by hand, so that it
 * does not depend on the server's parser and matcher.
 */
type Piece = readonly [written: string, means: string]

const SCHEMES = ['https', 'https', 'http', 'wss', 'ftp']
const LABEL = '[a-z0-9-]*'
const LABELS: Piece[] = [
  ['*', LABEL],
  ['*', LABEL],
  ['app', 'app'],
  ['b-c', 'b-c'],
  ['1', '1'],
  ['0x7f', '0x7f'],
  ['a-*', `a-${LABEL}`],
  ['*-b', `${LABEL}-b`],
  ['p*q', `p${LABEL}q`],
  ['BIG', 'big'],
  ['bücher', 'xn--bcher-kva'],
]
const DOMAINS: Piece[] = [
  ['example.net', 'example\\.net'],
  ['example', 'example'],
  ['localhost', 'localhost'],
  ['evil.com', 'evil\\.com'],
  ['xn--bcher-kva.example', 'xn--bcher-kva\\.example'],
]
const ADDRESSES: Piece[] = [
  ['127.0.0.1', '127\\.0\\.0\\.1'],
  ['127.1.2.3', '127\\.1\\.2\\.3'],
  ['[::1]', '\\[::1\\]'],
]
const PORTS: Piece[] = [
  ['', '$'],
  ['', '$'],
  [':*', '\\d*$'],
  [':8443', '8443$'],
  [':8000', '8000$'],
]
const SEGMENTS: Piece[] = [
  ['*', '[^/.]*'],
  ['**', '.*'],
  ['cb', 'cb'],
  ['v1.2', 'v1\\.2'],
  ['@me', '@me'],
  ['a*c', 'a[^/.]*c'],
  ['**.html', '.*\\.html'],
  ['a%20b', 'a%20b'],
  ['ü', '%C3%BC'],
  ['', ''],
]
/** Paths with escapes that match only because the pattern spells them out. */
const LITERAL_PATHS: Piece[] = [
  ['/u/a%23b', '/u/a%23b'],
  ['/v1%2E2', '/v1%2E2'],
  ['/a%253Fb', '/a%253Fb'],
]
const NO_QUERY: Piece = ['', '']
const QUERIES: Piece[] = [
  NO_QUERY,
  ['?', ''],
  ['?next=*', '\\?next=.*'],
  ['?a=1', '\\?a=1'],
  ['?*', '(\\?.*)?'],
]

/** Text to put in place of a wildcard: some that it must match, and some that it must not. */
const FILLINGS = [
  'a',
  'a',
  'b-c',
  'x',
  'evil.com',
  'example.net',
  'app',
  '127.0.0.1',
  '[::1]',
  '1',
  '0x7f.1',
  '',
]
const MISCHIEF = [
  ...['?', '#', '/', '\\', '@', ':', '.', '。', '／', '？', '＃', '\t', '\n', ' '],
  ...['%2f', '%5c', '%00', '%23', '%3f', '%40', '%2e', '%3a', '%2E', '%252f', '%2523', '%25252e'],
  ...['//', ':443', ':8000', '.example.net', 'evil.com', 'https://', 'ß', 'é', '\u00ad', '\u200d', '..'],
  ...['[', ']', '|', '^', '%20', ';', '..;', '/.;'],
  ...['%3b', '%253B', '%c0%af', '%c0%ae', '%ff', '%25ff', '%', '%25%32%66', '%f0%9f%98%80'],
]

/** Returns the same numbers for the same seed, so that a pair that failed once fails again (Mulberry32). */
function randomness(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

type Dice = { one: <T>(list: readonly T[]) => T; below: (end: number) => number }

/** Yields patterns of all shapes, each with a URL made from it that has up to three pieces of mischief put in anywhere. */
export function* redirectPairs(count: number, seed: number): Generator<Pair> {
  const random = randomness(seed)
  const below = (end: number) => Math.floor(random() * end)
  const dice: Dice = { below, one: (list) => list[below(list.length)] as (typeof list)[number] }
  for (let made = 0; made < count; made += 1) {
    const { pattern, means } = aPattern(dice)
    yield { pattern, means, url: mischievous(following(pattern, dice), dice) }
  }
}

function aPattern(dice: Dice): Pick<Pair, 'pattern' | 'means'> {
  const scheme = dice.one(SCHEMES)
  const host = aHost(dice)
  const port = dice.one(PORTS)
  const path = aPath(dice)
  const query = dice.below(2) === 0 ? NO_QUERY : dice.one(QUERIES)
  // A pattern without a query whose path ends in a wildcard allows any query.
  const search = query === NO_QUERY && path[0].endsWith('*') ? '.*' : query[1]
  const whole = (means: string) => new RegExp(`^(?:${means})$`, 's')
  const [isHost, isPort, isPath, isSearch] = [host[1], port[1], path[1], search].map(whole) as [
    RegExp,
    RegExp,
    RegExp,
    RegExp,
  ]
  const isLiteral = LITERAL_PATHS.includes(path)
  return {
    pattern: `${scheme}://${host[0]}${port[0]}${path[0]}${query[0]}`,
    means: (parts) =>
      parts.protocol === `${scheme}:` &&
      parts.username === '' &&
      isHost.test(parts.hostname) &&
      isPort.test(parts.port) &&
      isPath.test(parts.pathname) &&
      isSearch.test(parts.search) &&
      (isLiteral || !isMisleading(parts.pathname)),
  }
}

function aHost(dice: Dice): Piece {
  if (dice.below(8) === 0) return dice.one(ADDRESSES)
  const labels = Array.from({ length: dice.below(4) }, () => dice.one(LABELS))
  return joined([...labels, dice.one(DOMAINS)], '.', '\\.')
}

function aPath(dice: Dice): Piece {
  if (dice.below(8) === 0) return dice.one(LITERAL_PATHS)
  const segments = Array.from({ length: dice.below(4) }, () => dice.one(SEGMENTS))
  if (segments.length === 0) return ['', '/']
  const [written, means] = joined(segments, '/', '/')
  return [`/${written}`, `/${means}`]
}

const joined = (pieces: readonly Piece[], written: string, means: string): Piece => [
  pieces.map(([each]) => each).join(written),
  pieces.map(([, each]) => each).join(means),
]

const NOT_ESCAPES = /%(?![0-9a-f]{2})/i
const separatorsOf = (path: string) => path.replace(/[^/\\?#.;]/g, '')

/** Whether a server that decodes the path, once or more, may see a different path than a browser. Works on bytes, one character each. */
function isMisleading(path: string): boolean {
  if (NOT_ESCAPES.test(path) || /(^|\/)\.\.?;/.test(path)) return true
  const decoded = path.replace(/%([0-9a-f]{2})/gi, (_, digits: string) =>
    String.fromCharCode(parseInt(digits, 16)),
  )
  if (separatorsOf(decoded) !== separatorsOf(path) || !isUtf8(Buffer.from(decoded, 'latin1'))) return true
  return decoded !== path && isMisleading(decoded.replaceAll(new RegExp(NOT_ESCAPES, 'gi'), 'percent'))
}

const following = (pattern: string, { one, below }: Dice): string =>
  pattern.replace(/:\*/, () => `:${1 + below(65_535)}`).replace(/\*{1,2}/g, () => one(FILLINGS))

function mischievous(url: string, { one, below }: Dice): string {
  let changed = url
  for (let piece = below(4); piece > 0; piece -= 1) {
    const at = below(changed.length + 1)
    const until = below(2) === 0 ? at : at + below(3)
    changed = changed.slice(0, at) + one(MISCHIEF) + changed.slice(until)
  }
  return changed
}

export const isAccepted = ({ pattern, url }: Pair): boolean =>
  new Redirects({ siteUrl: 'https://site.invalid', uriAllowList: [pattern] }).accepted(url) !== null
