import type { Address } from 'postal-mime'

export interface Mail {
  /** Counts up: a later mail has a higher number. */
  id: number
  receivedAt: string
  /** Envelope sender and recipients: who really sent it to whom, whatever the headers say. */
  from: string
  to: string[]
  /** The From header with its display name, such as `Signet <no-reply@example.test>`. */
  sender: string
  subject: string
  text: string
  html: string
  /** Every http(s) link of the mail, HTML entities decoded, in order. */
  links: string[]
  headers: Record<string, string>
}

export interface Envelope {
  from: string
  to: string[]
}

/** Reads a raw mail. Headers that occur more than once keep their last value. */
export async function parseMail(id: number, envelope: Envelope, raw: Buffer): Promise<Mail> {
  const { default: PostalMime } = await import('postal-mime')
  const parsed = await PostalMime.parse(raw)
  const text = parsed.text ?? ''
  const html = parsed.html ?? ''
  return {
    id,
    receivedAt: new Date().toISOString(),
    ...envelope,
    sender: parsed.from ? formatAddress(parsed.from) : '',
    subject: parsed.subject ?? '',
    text,
    html,
    links: html ? linksInHtml(html) : linksInText(text),
    headers: Object.fromEntries(parsed.headers.map(({ key, value }) => [key, value])),
  }
}

const formatAddress = ({ name, address }: Address): string =>
  name ? `${name} <${address}>` : (address ?? '')

function linksInHtml(html: string): string[] {
  return [...html.matchAll(/href\s*=\s*(?:"([^"]*)"|'([^']*)')/gi)]
    .map((match) => decodeEntities(match[1] ?? match[2] ?? ''))
    .filter((link) => /^https?:/i.test(link))
}

function linksInText(text: string): string[] {
  return text.match(/https?:\/\/[^\s<>"]+/gi) ?? []
}

const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Those that occur inside attribute values; a full table would be of no use here. */
function decodeEntities(value: string): string {
  return value.replace(
    /&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi,
    (whole, hex?: string, decimal?: string, name?: string) => {
      if (hex) return String.fromCodePoint(Number.parseInt(hex, 16))
      if (decimal) return String.fromCodePoint(Number(decimal))
      return NAMED[(name ?? '').toLowerCase()] ?? whole
    },
  )
}
