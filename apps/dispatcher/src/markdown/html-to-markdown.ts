import { parseUrl } from '@signet/address-guard/parse-url'
import { parseHtml, type HtmlElement, type HtmlNode, type HtmlParent } from './html-tree.js'
import { MarkdownWriter } from './markdown-writer.js'

const REMOVED = new Set(['script', 'style', 'iframe', 'object', 'template'])
const LINK_PROTOCOLS = new Set(['http:', 'https:', 'mailto:'])
const PARAGRAPHS = new Set(
  (
    'address article aside audio blockquote body canvas caption center dd details dialog dir div dl dt fieldset figcaption ' +
    'figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html li main menu nav noscript ol p pre search section summary ' +
    'table tbody td tfoot th thead tr ul video'
  ).split(' '),
)
/** A Markdown table has one line per row. A table that contains one of these is written cell by cell instead. */
const BLOCKS_IN_CELLS = new Set('ul ol dl h1 h2 h3 h4 h5 h6 hr blockquote pre table'.split(' '))
const EMPHASIS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    b: '**',
    strong: '**',
    i: '*',
    em: '*',
    del: '~~',
    s: '~~',
    strike: '~~',
  }),
)

/**
 * Converts HTML to Markdown (apps/webhooks/docs/specification.md#html-to-markdown). The result contains no HTML, so that
 * rendering it is safe. Takes time in proportion to its input. `check` is called at every element
 * (decision 0160).
 */
export function htmlToMarkdown(html: string, check: () => void = () => undefined): string {
  const root = parseHtml(html, check)
  const writer = new MarkdownWriter()
  new Conversion(tablesWithBlocks(root), check).children(root, writer)
  return writer.markdown
}

class Conversion {
  constructor(
    private readonly tablesWithBlocks: ReadonlySet<HtmlParent>,
    private readonly check: () => void,
  ) {}

  children(parent: HtmlParent, writer: MarkdownWriter): void {
    for (const node of parent.childNodes) {
      if (isText(node)) writer.text(node.value)
      else if (isElement(node)) this.#element(node, writer)
    }
  }

  #element(element: HtmlElement, writer: MarkdownWriter): void {
    this.check()
    const name = element.tagName
    if (REMOVED.has(name)) return
    const content = () => this.children(element, writer)
    const emphasis = EMPHASIS.get(name)
    if (emphasis !== undefined) return writer.inline(emphasis, emphasis, content)
    if (/^h[1-6]$/.test(name)) return writer.heading('#'.repeat(Number(name[1])) + ' ', content)
    switch (name) {
      case 'br':
        return writer.lineBreak()
      case 'hr':
        return writer.isSingleLine ? writer.addSpace() : writer.lines(['---'])
      case 'img':
        return writer.text(attribute(element, 'alt') ?? '')
      case 'input':
        return this.#checkbox(element, writer)
      case 'a':
        return this.#link(element, writer, content)
      case 'code':
        return this.#code(element, writer)
      case 'pre':
        return this.#preformatted(element, writer)
      case 'ul':
      case 'ol':
        return this.#list(element, writer)
      case 'blockquote':
        return this.#block(writer, () => writer.container('> ', '> ', content))
      case 'table':
        return this.#table(element, writer)
      default:
        return PARAGRAPHS.has(name) ? this.#block(writer, content) : content()
    }
  }

  #block(writer: MarkdownWriter, write: () => void): void {
    writer.block(2)
    write()
    writer.block(2)
  }

  /** Keeps only links to web pages and mailboxes. Any other link, including a relative one, becomes its text. */
  #link(element: HtmlElement, writer: MarkdownWriter, content: () => void): void {
    const href = safeHref(attribute(element, 'href') ?? '')
    if (href === null) content()
    else writer.inline('[', `](${href})`, content)
  }

  #checkbox(element: HtmlElement, writer: MarkdownWriter): void {
    if (attribute(element, 'type')?.toLowerCase() !== 'checkbox') return
    writer.verbatim(attribute(element, 'checked') === undefined ? '[ ]' : '[x]')
    writer.addSpace()
  }

  #code(element: HtmlElement, writer: MarkdownWriter): void {
    const text = this.#textOf(element).replace(/\s+/g, ' ').trim()
    if (text === '') return
    const fence = fenceFor(text, 1)
    const pad = text.startsWith('`') || text.endsWith('`') ? ' ' : ''
    writer.code(text, fence + pad + text + pad + fence)
  }

  #preformatted(element: HtmlElement, writer: MarkdownWriter): void {
    const text = this.#textOf(element).replace(/\r\n?/g, '\n').replace(/\n$/, '')
    if (text.trim() === '') return
    if (writer.isSingleLine) return writer.text(text)
    const [only] = element.childNodes
    const language = only && isElement(only) ? languageOf(only) : ''
    const fence = fenceFor(text, 3)
    writer.lines([fence + language, ...text.split('\n'), fence])
  }

  #list(element: HtmlElement, writer: MarkdownWriter): void {
    const inItem = isElement(element.parentNode) && element.parentNode.tagName === 'li'
    writer.block(inItem ? 1 : 2)
    let number = element.tagName === 'ol' ? startOf(element) : null
    let followsItem = false
    for (const node of element.childNodes) {
      if (!isElement(node) || node.tagName !== 'li') {
        if (isBlank(node)) continue
        // Otherwise it would continue the text of the item.
        if (followsItem) writer.block(2)
        if (isElement(node)) this.#element(node, writer)
        else if (isText(node)) writer.text(node.value)
        followsItem = false
        continue
      }
      this.check()
      // After a line of text only 1 begins a list, so that any other number, and a fence behind it, would be text.
      writer.block(number === null || number === 1 || followsItem ? 1 : 2)
      followsItem = true
      const marker = number === null ? '-   ' : `${Math.min(number++, MAX_NUMBER)}.`.padEnd(4)
      const first = marker.endsWith(' ') ? marker : `${marker} `
      writer.container(first, ' '.repeat(first.length), () => this.children(node, writer))
      writer.endItem()
    }
    writer.block(2)
  }

  #table(element: HtmlElement, writer: MarkdownWriter): void {
    const rows = this.tablesWithBlocks.has(element) || writer.isSingleLine ? [] : rowsOf(element)
    const columns = rows.reduce((most, { cells }) => Math.max(most, cells.length), 0)
    if (columns === 0 || (rows.length === 1 && columns === 1))
      return this.#block(writer, () => this.children(element, writer))
    for (const node of element.childNodes)
      if (isElement(node) && node.tagName === 'caption') this.#element(node, writer)
    const [first] = rows
    const hasHeading = first !== undefined && first.isHeading
    const heading = hasHeading ? first.cells : []
    const filled = Array.from({ length: columns }, (_, i) => heading[i])
    writer.lines([
      rowOf(filled.map((cell) => (cell ? this.#cell(cell) : ''))),
      rowOf(filled.map((_, i) => ruleOf(first?.cells[i]))),
      ...rows.slice(hasHeading ? 1 : 0).map(({ cells }) => rowOf(cells.map((cell) => this.#cell(cell)))),
    ])
  }

  #cell(element: HtmlElement): string {
    this.check()
    const writer = new MarkdownWriter(true)
    this.children(element, writer)
    return writer.markdown
  }

  #textOf(parent: HtmlParent): string {
    let text = ''
    for (const node of parent.childNodes) {
      if (isText(node)) text += node.value
      else if (isElement(node) && node.tagName === 'br') text += '\n'
      else if (isElement(node) && !REMOVED.has(node.tagName)) text += this.#textOf(node)
    }
    return text
  }
}

function isText(node: HtmlNode): node is Extract<HtmlNode, { value: string }> {
  return node.nodeName === '#text'
}

const isBlank = (node: HtmlNode): boolean => (isText(node) ? node.value.trim() === '' : !isElement(node))

const isElement = (node: HtmlNode | HtmlParent | null): node is HtmlElement =>
  node !== null && 'tagName' in node

const attribute = (element: HtmlElement, name: string): string | undefined =>
  element.attrs.find((attr) => attr.name === name)?.value

function safeHref(href: string): string | null {
  const url = parseUrl(href)
  if (url === null || !LINK_PROTOCOLS.has(url.protocol)) return null
  return url.href
    .replace(/[()<>\\|`" ]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/&(?=#?[a-z0-9]{1,32};)/gi, '\\&')
}

/** Returns a fence that is longer than any run of backticks in the text. */
function fenceFor(text: string, atLeast: number): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0)
  return '`'.repeat(Math.max(atLeast, longest + 1))
}

const languageOf = (code: HtmlElement): string =>
  /(?:^|\s)language-([\w+#.-]{1,40})(?=\s|$)/.exec(attribute(code, 'class') ?? '')?.[1] ?? ''

/** A longer number is no longer that of a list item. */
const MAX_NUMBER = 999_999_999

function startOf(list: HtmlElement): number {
  const start = Number(attribute(list, 'start') ?? 1)
  return Number.isInteger(start) && start >= 0 && start <= MAX_NUMBER ? start : 1
}

type Row = { cells: HtmlElement[]; isHeading: boolean }

function rowsOf(table: HtmlElement): Row[] {
  const rows: Row[] = []
  for (const part of table.childNodes) {
    if (!isElement(part)) continue
    for (const row of part.childNodes) {
      if (!isElement(row) || row.tagName !== 'tr') continue
      const cells = row.childNodes.filter(isElement).filter(({ tagName }) => /^t[hd]$/.test(tagName))
      const isHeading = part.tagName === 'thead' || cells.every(({ tagName }) => tagName === 'th')
      if (cells.length > 0) rows.push({ cells, isHeading })
    }
  }
  return rows
}

const rowOf = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.padEnd(3)).join(' | ')} |`

function ruleOf(cell: HtmlElement | undefined): string {
  const rules: Readonly<Record<string, string>> = { left: ':--', center: ':-:', right: '--:' }
  return rules[(cell && attribute(cell, 'align')?.toLowerCase()) ?? ''] ?? '---'
}

/** Tables that contain blocks, found in one walk. */
function tablesWithBlocks(root: HtmlParent): Set<HtmlParent> {
  const found = new Set<HtmlParent>()
  const holdsBlocks = (parent: HtmlParent): boolean => {
    let holds = false
    for (const node of parent.childNodes)
      if (isElement(node)) holds = holdsBlocks(node) || BLOCKS_IN_CELLS.has(node.tagName) || holds
    if (holds && isElement(parent) && parent.tagName === 'table') found.add(parent)
    return holds
  }
  holdsBlocks(root)
  return found
}
