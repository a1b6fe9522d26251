export type Mail = Awaited<ReturnType<typeof parseMail>>

/** Parses a raw email. If a header occurs more than once, its last value counts. */
export async function parseMail(id: number, envelope: { from: string; to: string[] }, raw: Buffer) {
  const { default: PostalMime } = await import('postal-mime')
  const { from, subject = '', text = '', html = '', headers } = await PostalMime.parse(raw)
  const { name, address } = from ?? {}
  return {
    /** A later email has a higher number. */
    id,
    receivedAt: new Date().toISOString(),
    // Sender and recipients of the envelope, which are the real ones regardless of the headers.
    ...envelope,
    /** The From header with its display name, such as `Signet <no-reply@example.test>`. */
    sender: [name, name ? `<${address}>` : address].filter(Boolean).join(' '),
    ...{ subject, text, html },
    /** Every http(s) link of the email in order, with HTML entities decoded. */
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
