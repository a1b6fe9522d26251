export interface Mail {
  /** Counts up: a later mail has a higher number. */
  id: number
  receivedAt: string
  /** Envelope sender and recipients: who really sent it to whom, regardless of the headers. */
  from: string
  to: string[]
  /** The From header with its display name, such as `Signet <no-reply@example.test>`. */
  sender: string
  subject: string
  text: string
  html: string
  /** Every http(s) link of the email, HTML entities decoded, in order. */
  links: string[]
  headers: Record<string, string>
}

export interface MailFilter {
  /** Envelope recipient, compared without regard to case. */
  to?: string
  subject?: string | RegExp
  /** Only emails that arrived after this one. */
  after?: Pick<Mail, 'id'>
}

/** Parses a raw email. Headers that occur more than once keep their last value. */
export async function parseMail(id: number, envelope: Pick<Mail, 'from' | 'to'>, raw: Buffer): Promise<Mail> {
  const { default: PostalMime } = await import('postal-mime')
  const parsed = await PostalMime.parse(raw)
  const text = parsed.text ?? ''
  const html = parsed.html ?? ''
  const { name, address } = parsed.from ?? {}
  return {
    id,
    receivedAt: new Date().toISOString(),
    ...envelope,
    sender: [name, name ? `<${address}>` : address].filter(Boolean).join(' '),
    subject: parsed.subject ?? '',
    text,
    html,
    links: html ? await linksInHtml(html) : linksInText(text),
    headers: Object.fromEntries(parsed.headers.map(({ key, value }) => [key, value])),
  }
}

/** The targets of all links, with entities decoded. */
async function linksInHtml(html: string): Promise<string[]> {
  const { load } = await import('cheerio')
  const { links } = load(html).extract({ links: [{ selector: '[href]', value: 'href' }] })
  return links.filter((link) => /^https?:/i.test(link))
}

const linksInText = (text: string): string[] => text.match(/https?:\/\/[^\s<>"]+/gi) ?? []
