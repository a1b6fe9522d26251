import { readFileSync, statSync } from 'node:fs'
import { parsed, text, type ConfigOf } from '@signet/config'
import { SIGNET, type Brand, type Logo } from './brand.js'
import { contrast, READABLE } from './contrast.js'
import { lightGrounds } from './tokens.js'

const MAX_LOGO_BYTES = 200_000
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** The settings of an app, named after it: `AUTH_BRAND_NAME` (decision 0208). */
export const brandSettings = <const P extends string>(prefix: P) => ({
  brandName: text({
    env: `${prefix}_BRAND_NAME`,
    fallback: SIGNET.name,
    pattern: /^[^\p{Cc}\p{Cf}<>{}]{1,60}$/u,
    expected: '1 to 60 characters, without control characters, angle brackets and braces',
    doc: 'Name of the product, on pages and in emails.',
  }),
  brandLogo: parsed<
    Logo,
    { env: string; optional: true; doc: string; kind: string; parse: (raw: string) => Logo }
  >({
    env: `${prefix}_BRAND_LOGO`,
    optional: true,
    kind: 'path of a file',
    doc: 'An SVG or PNG file of at most 200 kB, shown instead of the built-in mark and served by this service. Emails show a PNG.',
    parse: readLogo,
  }),
  brandAccent: parsed<
    string,
    { env: string; fallback: string; doc: string; kind: string; parse: (raw: string) => string }
  >({
    env: `${prefix}_BRAND_ACCENT_COLOR`,
    fallback: SIGNET.accent,
    kind: 'color',
    doc: 'Color of buttons and links, as `#rrggbb`; dark enough to be read on white. In dark mode a lighter shade of it is used.',
    parse: readAccent,
  }),
  brandSupport: text({
    env: `${prefix}_BRAND_SUPPORT`,
    optional: true,
    pattern: /^(https:\/\/[^\s"<>{}]+|[^\s@"<>{}]+@[^\s@"<>{}]+)$/,
    expected: 'an email address or an https URL',
    doc: 'Where people get help: an email address or a URL, at the foot of pages and emails.',
  }),
  brandImprintUrl: pageUrl(`${prefix}_BRAND_IMPRINT_URL`, 'Imprint'),
  brandPrivacyUrl: pageUrl(`${prefix}_BRAND_PRIVACY_URL`, 'Privacy policy'),
  brandTermsUrl: pageUrl(`${prefix}_BRAND_TERMS_URL`, 'Terms of service'),
})

export type BrandConfig = ConfigOf<ReturnType<typeof brandSettings>>

export const brandOf = (config: BrandConfig): Brand => ({
  name: config.brandName,
  logo: config.brandLogo ?? null,
  accent: config.brandAccent,
  support: config.brandSupport ?? null,
  imprintUrl: config.brandImprintUrl ?? null,
  privacyUrl: config.brandPrivacyUrl ?? null,
  termsUrl: config.brandTermsUrl ?? null,
})

const pageUrl = (env: string, what: string) =>
  text({
    env,
    optional: true,
    pattern: /^https?:\/\/[^\s"<>{}]+$/,
    expected: 'an http or https URL',
    doc: `${what}, linked at the foot of pages and emails.`,
  })

function readLogo(path: string): Logo {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw new Error('names a file that cannot be read')
  if (!found.isFile()) throw new Error('names something that is no file')
  if (found.size > MAX_LOGO_BYTES) throw new Error(`names a file larger than ${MAX_LOGO_BYTES} bytes`)
  const bytes = readBytes(path)
  if (bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return { type: 'image/png', bytes }
  if (/^\uFEFF?\s*(<\?xml[^>]*>\s*)?(<!--[\s\S]*?-->\s*)*<svg[\s>]/.test(bytes.toString('utf8')))
    return { type: 'image/svg+xml', bytes }
  throw new Error('names a file that is neither SVG nor PNG')
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new Error('names a file that cannot be read', { cause })
  }
}

function readAccent(raw: string): string {
  const hex = raw.toLowerCase()
  if (!/^#[0-9a-f]{6}$/.test(hex)) throw new Error('must be a color like #4338ca')
  const least = Math.min(...lightGrounds.map((ground) => contrast(hex, ground)))
  if (least < READABLE)
    throw new Error(
      `is too light: its contrast to the page is ${least.toFixed(1)}, and text needs ${READABLE}. Choose a darker color`,
    )
  return hex
}
