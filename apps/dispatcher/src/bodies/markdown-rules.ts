import { parseUrl } from '@signet/address-guard/parse-url'
import { gfm } from '@joplin/turndown-plugin-gfm'
import TurndownService from 'turndown'

/** The part of the DOM that the rules use. The converter has a DOM implementation of its own. */
type DomNode = {
  nodeName: string
  parentNode: DomNode | null
  getAttribute(name: string): string | null
  /** Returns `undefined`, not null, when nothing matches. */
  querySelector(selector: string): DomNode | null | undefined
}

const LINK_PROTOCOLS = new Set(['http:', 'https:', 'mailto:'])
/** A Markdown table has one line per row. A table that contains one of these is written cell by cell instead. */
const BLOCKS = 'ul, ol, dl, h1, h2, h3, h4, h5, h6, hr, blockquote, pre, table'

/**
 * Converts HTML to Markdown (apps/webhooks/docs/specification.md#html-to-markdown). The result contains no HTML, so that rendering it is safe. Synchronous and
 * without limits, so it runs in a worker thread.
 */
export function htmlToMarkdown(html: string): string {
  return converter().turndown(html)
}

function converter(): TurndownService {
  const service = new TurndownService({
    headingStyle: 'atx',
    hr: '---',
    bulletListMarker: '-',
    codeBlockStyle: 'fenced',
    emDelimiter: '*',
  })
  service.use(gfm)
  service.remove(['script', 'style', 'iframe', 'object', 'template'])
  addLinks(service)
  addImages(service)
  addTablesWithBlocks(service)
  const escape = service.escape.bind(service)
  // `&lt;script>` is text in HTML, but as `<script>` in Markdown it would be a tag.
  service.escape = (text) => escape(text).replace(/<(?=[a-z/!?])/gi, '\\<')
  return service
}

/** Keeps links to web pages and mailboxes. Any other link, including a relative one, becomes its text. */
function addLinks(service: TurndownService): void {
  service.addRule('safeLinks', {
    filter: 'a',
    replacement: (content, node) => {
      const href = safeHref((node as unknown as DomNode).getAttribute('href') ?? '')
      return href === null || content.trim() === '' ? content : `[${content}](${href})`
    },
  })
}

function safeHref(href: string): string | null {
  const url = parseUrl(href)
  if (url === null) return null
  if (!LINK_PROTOCOLS.has(url.protocol)) return null
  return url.href.replace(/[()<>]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function addImages(service: TurndownService): void {
  service.addRule('imagesAsText', {
    filter: 'img',
    replacement: (_content, node) => {
      const alt = (node as unknown as DomNode).getAttribute('alt') ?? ''
      return service.escape(alt.replace(/\s+/g, ' ').trim())
    },
  })
}

/** The table plugin would leave such tables as HTML, with all attributes. */
function addTablesWithBlocks(service: TurndownService): void {
  const holdsBlocks = new WeakMap<object, boolean>()
  const inTableWithBlocks = (node: DomNode): boolean => {
    let table: DomNode | null = node
    while (table && table.nodeName !== 'TABLE') table = table.parentNode
    if (!table) return false
    const known = holdsBlocks.get(table) ?? Boolean(table.querySelector(BLOCKS))
    holdsBlocks.set(table, known)
    return known
  }
  const parts = new Set(['TABLE', 'CAPTION', 'THEAD', 'TBODY', 'TFOOT', 'TR', 'TH', 'TD'])
  service.addRule('tablesWithBlocks', {
    filter: (node) => {
      const part = node as unknown as DomNode
      return parts.has(part.nodeName) && inTableWithBlocks(part)
    },
    replacement: (content) => `\n\n${content}\n\n`,
  })
}
