export type Mail = Awaited<ReturnType<typeof parseMail>>

/** Parses a raw email. Headers that occur more than once keep their last value. */
export async function parseMail(id: number, envelope: { from: string; to: string[] }, raw: Buffer) {
  const { default: PostalMime } = await import('postal-mime')
  const { from, subject = '', text = '', html = '', headers } = await PostalMime.parse(raw)
  const { name, address } = from ?? {}
  return {
    /** Counts up: a later mail has a higher number. */
    id,
    receivedAt: new Date().toISOString(),
    // Sender and recipients of the envelope: who really sent it to whom, regardless of the headers.
    ...envelope,
    /** The From header with its display name, such as `Signet <no-reply@example.test>`. */
    sender: [name, name ? `<${address}>` : address].filter(Boolean).join(' '),
    ...{ subject, text, html },
    /** Every http(s) link of the email, HTML entities decoded, in order. */
    links: html ? await linksInHtml(html) : linksInText(text),
    headers: Object.fromEntries(headers.map(({ key, value }) => [key, value])),
  }
}

async function linksInHtml(html: string): Promise<string[]> {
  const { load } = await import('cheerio')
  const { links } = load(html).extract({ links: [{ selector: '[href]', value: 'href' }] })
  return links.filter((link) => /^https?:/i.test(link))
}

const linksInText = (text: string): string[] => text.match(/https?:\/\/[^\s<>"]+/gi) ?? []
