import { LimitExceededError } from './conversion-limit.js'

/** Markdown around inline text. `started`: the opening part is written. */
type Inline = { open: string; close: string; started: boolean }
/** A list item or a quotation: what its first line begins with, and all others. */
type Container = { first: string; rest: string; used: boolean }

/** Indentation multiplies with the depth of lists. */
const MAX_LENGTH = 4 * 1024 * 1024

/**
 * Writes Markdown from front to back, each character once: white space, line breaks and opening markers are only noted, and
 * written when text follows. So nothing is trimmed, joined or indented afterwards, and nothing empty is emphasized.
 */
export class MarkdownWriter {
  #out = ''
  #gap = 0
  #hardBreak = false
  #space = false
  #inlines: Inline[] = []
  readonly #containers: Container[] = []
  #lineDepth = 0
  /** Where the last code span ends. */
  #codeEnd = -1
  /** The text since the last white space contains the beginning of an address. */
  #isInAddress = false
  /** The end of that text, in which an address may begin. */
  #lastCharacters = ''
  /** The last character, which may be two code units long. */
  #end = ''
  /** Where the last emphasis ends, if there is a punctuation mark in front of its end. */
  #markedEnd = -1

  /** A table cell is a single line, in which `|` is escaped. */
  constructor(private readonly inCell = false) {}

  get markdown(): string {
    return this.#out
  }

  /** Text of the document, in which nothing may become markup. */
  text(raw: string): void {
    const words = raw.replace(/[ \t\r\n\f]+/g, ' ')
    // At either end a no-break space counts as well: editors write it between words.
    if (words !== words.trimStart()) this.#space = true
    const trimmed = words.trim()
    if (trimmed === '') return
    this.#write(escapeMarkdown(this.inCell ? trimmed.replaceAll('|', '\u0000') : trimmed), true)
    if (words !== words.trimEnd()) this.#space = true
  }

  /** Inline Markdown, written as it is. */
  verbatim(markdown: string): void {
    this.#write(this.inCell ? markdown.replaceAll('|', '\\|') : markdown, false)
  }

  /**
   * A code span that shows `text`. Nothing in it is markup as long as its fences are where it begins and ends: those of two spans side by
   * side would be read as one, and an address that readers turn into a link takes in everything up to a white space or `<`.
   */
  code(text: string, span: string): void {
    // Readers disagree on whether `\\|` separates the cells of a table, and whether `]` in a code span ends the text of a link.
    const isAmbiguous = this.inCell ? text.includes('\\|') : this.#isInLink() && text.includes(']')
    if (isAmbiguous) return this.text(text)
    if (this.#codeEnd === this.#out.length || (this.#isInAddress && text.includes('<'))) this.#space = true
    this.verbatim(span)
    this.#codeEnd = this.#out.length
  }

  /** White space before what comes next. */
  addSpace(): void {
    this.#space = true
  }

  lineBreak(): void {
    if (this.isSingleLine) this.#space = true
    else if (this.#hardBreak) this.block(2)
    else this.#hardBreak = true
  }

  /** Ends the current block. The next one follows after one line break, or after a blank line. */
  block(lines: 1 | 2): void {
    if (this.isSingleLine) {
      this.#space = true
      return
    }
    this.#closeInlines()
    this.#space = false
    this.#hardBreak = false
    // The first block of a list item follows its bullet.
    if (this.#containers.at(-1)?.used !== false) this.#gap = Math.max(this.#gap, lines)
  }

  /** Text with markers around it. Emphasis that spans blocks is closed and opened again at their borders. */
  inline(open: string, close: string, write: () => void): void {
    if (this.#inlines.some((other) => other.open === open)) return write()
    const inline = { open, close, started: false }
    this.#inlines.push(inline)
    write()
    this.#inlines.pop()
    if (!inline.started) return
    const isMarked = MARK_AT_END.test(this.#end)
    const isNested = this.#markedEnd === this.#out.length
    this.#append(close)
    if (isEmphasis(inline) && (isMarked || isNested)) this.#markedEnd = this.#out.length
  }

  /** A line that begins with a marker. Blocks inside it are written as inline text. */
  heading(marker: string, write: () => void): void {
    this.block(2)
    const outer = this.#inlines
    this.#inlines = [{ open: marker, close: '', started: false }, ...outer]
    this.#lineDepth += 1
    write()
    this.#lineDepth -= 1
    this.#closeInlines()
    this.#inlines = outer
    this.block(2)
  }

  container(first: string, rest: string, write: () => void): void {
    this.#containers.push({ first, rest, used: false })
    write()
    this.#closeInlines()
    this.#space = false
    this.#hardBreak = false
    this.#containers.pop()
  }

  /** The next list item follows directly, however this one ended. */
  endItem(): void {
    this.#gap = Math.min(this.#gap, 1)
  }

  /** Whole lines as they are. */
  lines(lines: readonly string[]): void {
    this.block(2)
    const outer = this.#inlines
    this.#inlines = []
    lines.forEach((line, index) => {
      if (index > 0) this.#gap = 1
      this.#write(line, false)
    })
    this.#inlines = outer
    this.block(2)
  }

  get isSingleLine(): boolean {
    return this.inCell || this.#lineDepth > 0
  }

  #write(chunk: string, isText: boolean): void {
    const atLineStart = this.#beginLine()
    if (!atLineStart && (this.#space || this.#needsSpace(chunk))) this.#append(' ')
    this.#space = false
    let marked = false
    for (const inline of this.#inlines) {
      if (inline.started) continue
      inline.started = true
      marked = true
      this.#append(inline.open)
    }
    this.#append(isText && atLineStart && !marked ? escapeLineStart(chunk) : chunk)
  }

  /**
   * Markers between a punctuation mark and a letter are not read as the end of an emphasis, nor as its beginning the other way round
   * (CommonMark, left- and right-flanking delimiter runs).
   */
  #needsSpace(chunk: string): boolean {
    const opening = this.#inlines.filter(({ started }) => !started)
    const next = opening.find((inline) => !isEmphasis(inline))?.open ?? chunk
    const isMark = MARK_AT_START.test(next)
    if (this.#markedEnd === this.#out.length) return !isMark
    const [first] = opening
    return first !== undefined && isEmphasis(first) && isMark && LETTER_AT_END.test(this.#end)
  }

  /** True if nothing is written on the line yet. */
  #beginLine(): boolean {
    if (this.#out === '') {
      this.#append(this.#prefix())
    } else if (this.#gap > 0) {
      const blank = this.#containers.filter(({ used }) => used).map(({ rest }) => rest)
      if (this.#gap > 1) this.#append(`\n${blank.join('').trimEnd()}`)
      this.#append(`\n${this.#prefix()}`)
    } else if (this.#hardBreak) {
      this.#append(`  \n${this.#prefix()}`)
    } else return false
    this.#gap = 0
    this.#hardBreak = false
    return true
  }

  #prefix(): string {
    let prefix = ''
    for (const container of this.#containers) {
      prefix += container.used ? container.rest : container.first
      container.used = true
    }
    return prefix
  }

  #isInLink(): boolean {
    return this.#inlines.some(({ open }) => open === '[')
  }

  #closeInlines(): void {
    for (const inline of [...this.#inlines].reverse()) {
      if (inline.started) this.#append(inline.close)
      inline.started = false
    }
  }

  #append(markdown: string): void {
    this.#out += markdown
    this.#end = (this.#end + markdown.slice(-2)).slice(-2)
    this.#followAddress(markdown)
    if (this.#out.length > MAX_LENGTH) throw new LimitExceededError('too_large')
  }

  #followAddress(added: string): void {
    const from = Math.max(added.lastIndexOf(' '), added.lastIndexOf('\n')) + 1
    if (from > 0) {
      this.#isInAddress = false
      this.#lastCharacters = ''
    }
    const text = this.#lastCharacters + added.slice(from)
    this.#isInAddress ||= ADDRESS.test(text)
    this.#lastCharacters = text.slice(-'https://'.length)
  }
}

const isEmphasis = ({ open }: Inline): boolean => /^[*~]/.test(open)
const MARK_AT_START = /^[\p{P}\p{S}]/u
const MARK_AT_END = /[\p{P}\p{S}]$/u
const LETTER_AT_END = /[^\p{P}\p{S}\s]$/u

/** What readers take for the beginning of an address (GitHub Flavored Markdown, extended autolinks). */
const ADDRESS = /(?:https?|ftp):\/\/|www\./i

/**
 * `&lt;script>` is text in HTML, but as `<script>` in Markdown it would be a tag; at the end of a piece of text the rest of the
 * tag may follow in the next one. A backslash is not enough, because behind an address it is part of that. `&amp;lt;` is the text
 * `&lt;`, which in Markdown would be a character reference. `!` before a link would make an image of it. NUL stands for `|` in a
 * table cell.
 */
const escapeMarkdown = (text: string): string =>
  text
    .replace(/[\\*`[\]_~]/g, '\\$&')
    .replace(/&(?=#?[a-z0-9]{1,32};|#?[a-z0-9]{0,32}$)/gi, '\\&')
    .replace(/<(?=[a-z/!?]|$)/gi, '&lt;')
    .replace(/!$/, '\\!')
    .replaceAll('\u0000', '\\|')

/** What makes a heading, a list, a quotation, a rule or a fence at the start of a line. */
const escapeLineStart = (text: string): string =>
  text.replace(/^(?:-|=|>|\+(?= |$)|#{1,6}(?= |$))/, '\\$&').replace(/^(\d{1,9})([.)])(?= |$)/, '$1\\$2')
