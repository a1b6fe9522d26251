import { isIP } from 'node:net'
import type { Setting } from './settings.js'

type Common = { env: string | readonly string[]; doc: string; secret?: boolean; fallbackDoc?: string }
/** `fallback` makes a setting optional with a default, and `optional` without one. Otherwise it is required. */
export type SettingOptions<T> = Common & { fallback?: T; optional?: true }

type Optional<T, O> = O extends { optional: true } ? T | undefined : T

const TEXT = 'text'

function build<T, O extends SettingOptions<T>>(options: O, kind: string, parse: (raw: string) => T) {
  const isSecretText = options.secret === true && kind === TEXT
  return {
    env: typeof options.env === 'string' ? [options.env] : options.env,
    doc: options.doc,
    secret: options.secret ?? false,
    kind,
    fallback: options.fallback,
    fallbackDoc: options.fallbackDoc,
    required: options.fallback === undefined && options.optional !== true,
    parse(raw: string) {
      // Files of secrets often end with one. With it, another secret would be sent or compared, which fails only in use.
      if (isSecretText && /[\r\n]/.test(raw)) fail('must not contain a line break')
      return parse(raw)
    },
  } as Setting<Optional<T, O>>
}

/** Any string. `pattern` restricts it, and `expected` describes the pattern in the error message. `minBytes` is for secrets. */
export function text<O extends SettingOptions<string>>(
  options: O & { pattern?: RegExp; expected?: string; minBytes?: number },
) {
  return build<string, O>(options, TEXT, (raw) => {
    if (options.pattern && !options.pattern.test(raw))
      fail(`must be ${options.expected ?? String(options.pattern)}`)
    if (options.minBytes !== undefined && Buffer.byteLength(raw) < options.minBytes)
      fail(`must be at least ${options.minBytes} bytes long`)
    return raw
  })
}

/** A host name or an IP address, without brackets. */
export function hostName<O extends SettingOptions<string>>(options: O) {
  return build<string, O>(options, TEXT, (raw) => {
    if (isIP(raw) === 0 && !/^[\w.-]+$/.test(raw))
      fail('must be a host name or an IP address, without scheme and port')
    return raw
  })
}

/** An integer in decimal digits: `30o2`, `1e3` and ` 5` are errors. */
export function integer<O extends SettingOptions<number>>(options: O & { min?: number; max?: number }) {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = options
  return build<number, O>(options, 'integer', (raw) => {
    const value = /^-?\d{1,16}$/.test(raw) ? Number(raw) : NaN
    if (!(value >= min && value <= max)) fail(`must be a whole number from ${min} to ${max}`)
    return value
  })
}

/** Accepts `1`, `t`, `true`, `0`, `f`, `false` in any case. */
export function boolean<O extends SettingOptions<boolean>>(options: O) {
  return build<boolean, O>(options, 'boolean', (raw) => {
    if (/^(1|t|true)$/i.test(raw)) return true
    if (/^(0|f|false)$/i.test(raw)) return false
    return fail('must be true or false')
  })
}

/** One of a fixed set of values, case-insensitive. */
export function choice<const C extends string, O extends SettingOptions<C>>(
  options: O & { choices: readonly C[] },
) {
  return build<C, O>(options, options.choices.map((word) => `\`${word}\``).join(', '), (raw) => {
    const found = options.choices.find((word) => word.toLowerCase() === raw.toLowerCase())
    return found ?? fail(`must be one of ${options.choices.join(', ')}`)
  })
}

/**
 * The environment of a process. `doc` says what `production` changes. Other words are errors, because they would silently switch those
 * rules off.
 */
export const nodeEnvironment = (doc: string) =>
  choice({
    env: 'NODE_ENV',
    choices: ['production', 'development', 'test'],
    fallback: 'development',
    doc,
  })

/** Comma-separated. Drops surrounding spaces and empty items. `item` may reject or convert an item. */
export function list<O extends SettingOptions<readonly string[]>>(
  options: O & { item?: (item: string) => string },
) {
  return build<readonly string[], O>(options, 'list', (raw) => {
    const items = raw
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
    // As from a block of YAML. Two headers in one item, for instance, would fail only when the item is sent.
    if (items.some((item) => /[\r\n]/.test(item))) fail('must be separated by commas, not by line breaks')
    return items.map(options.item ?? ((item) => item))
  })
}

/** An absolute http(s) URL without query or fragment, returned without trailing slash. */
export function httpUrl<O extends SettingOptions<string>>(options: O) {
  return build<string, O>(options, 'URL', (raw) => {
    // oxlint-disable-next-line no-restricted-properties -- once for each setting, and this package imports no other
    const url = URL.canParse(raw) ? new URL(raw) : undefined
    // Setting values are used as written, so reject what the parser would read differently: https:///host, backslashes and tabs.
    if (!url || !/^https?:\/\/[^/]/i.test(raw) || /[\p{Cc}\s\\]/u.test(raw))
      return fail('must be an absolute http or https URL')
    if (url.search || url.hash || raw.includes('?') || raw.includes('#'))
      fail('must have no query and no fragment')
    return raw.replace(/\/+$/, '')
  })
}

/** A duration in milliseconds, written as a number of seconds or as a Go duration such as `1h30m` or `500ms`. */
export function duration<O extends SettingOptions<number>>(options: O & { minMs?: number; maxMs?: number }) {
  const { minMs = 0, maxMs = Number.MAX_SAFE_INTEGER } = options
  return build<number, O>(options, 'duration', (raw) => {
    const value =
      parseDuration(raw) ?? fail('must be a number of seconds or a duration such as 10s, 5m or 1h30m')
    if (value < minMs || value > maxMs) fail(`must be a duration from ${minMs} ms to ${maxMs} ms`)
    return value
  })
}

/** A setting with its own syntax, which `kind` names in the documentation. */
export function parsed<T, O extends SettingOptions<T>>(
  options: O & { kind: string; parse: (raw: string) => T },
): Setting<Optional<T, O>> {
  return build<T, O>(options, options.kind, options.parse)
}

const UNIT_MS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ns: 1e-6,
    us: 1e-3,
    µs: 1e-3,
    μs: 1e-3,
    ms: 1,
    s: 1000,
    m: 60_000,
    h: 3_600_000,
  }),
)

/** Parses `90`, `1.5` (seconds) or a Go duration (`1h30m`, `-10s`) into milliseconds. Returns null for anything else. */
export function parseDuration(raw: string): number | null {
  if (/^\d+(\.\d+)?$/.test(raw)) return Number(raw) * 1000
  const match = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.exec(raw)
  if (!match) return null
  let total = 0
  for (const part of (match[2] ?? '').matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g))
    total += Number(part[1]) * (UNIT_MS.get(part[2] ?? '') ?? 0)
  return match[1] === '-' ? -total : total
}

function fail(message: string): never {
  throw new Error(message)
}
