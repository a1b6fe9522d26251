/** Text that is already HTML. Only {@link html} creates it, so everything else is escaped. */
export class Html {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text
  }
}

type Value = string | number | Html | readonly Html[] | null | undefined | false

/** A template tag that escapes interpolated values, for text and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(strings.reduce((text, part, index) => text + render(values[index - 1]) + part))
}

function render(value: Value): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(({ text }) => text).join('')
  return String(value).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
}
