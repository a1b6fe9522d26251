import { textsOf, type Catalogues, type Language, type MessageValue, type Texts } from '@signet/language'
import { html, type Html } from './html.js'
import de from './texts/de.json' with { type: 'json' }
import en from './texts/en.json' with { type: 'json' }

type KitKey = keyof typeof en

/** Renders a tag in a message, such as `<a>`, around the text inside it. */
type Tag = (inside: Html) => Html

/** The messages of an app's pages, and those of the kit. */
export type PageTexts<Key extends string = never> = Texts<Key | KitKey> & {
  /** A message as HTML. Texts and values are escaped. The allowed tags are those of `TAGS` and those in `values`. */
  html(key: Key | KitKey, values?: Readonly<Record<string, MessageValue | Html | Tag>>): Html
}

export const kitCatalogues: Catalogues<KitKey> = { en, de }

/** The messages of an app by language, from its catalogues. */
export function pageTextsOf<Key extends string = never>(
  catalogues: Catalogues<Key>,
): (language: Language) => PageTexts<Key> {
  const textsIn = textsOf<Key | KitKey>({ en: { ...en, ...catalogues.en }, de: { ...de, ...catalogues.de } })
  const made = new Map<Language, PageTexts<Key>>()
  return (language) => {
    const known = made.get(language) ?? withHtml(textsIn(language))
    made.set(language, known)
    return known
  }
}

/** The kit's own messages, for services whose pages have no catalogue. */
export const kitTexts: (language: Language) => PageTexts = pageTextsOf({ en: {}, de: {} })

const TAGS = {
  strong: (inside) => html`<strong>${inside}</strong>`,
  bdi: (inside) => html`<bdi>${inside}</bdi>`,
  code: (inside) => html`<code>${inside}</code>`,
  var: (inside) => html`<var>${inside}</var>`,
} satisfies Record<string, Tag>

type Part = string | Html

const withHtml = <Key extends string>(texts: Texts<Key | KitKey>): PageTexts<Key> =>
  Object.assign((...message: Parameters<Texts<Key | KitKey>>) => texts(...message), {
    language: texts.language,
    parts: texts.parts.bind(texts),
    html(key: Key | KitKey, values: Readonly<Record<string, MessageValue | Html | Tag>> = {}): Html {
      const tagged = Object.entries({ ...TAGS, ...values }).map(
        ([name, value]) => [name, typeof value === 'function' ? ofParts(value) : value] as const,
      )
      return joined(texts.parts<Html>(key, Object.fromEntries(tagged)))
    },
  })

const ofParts =
  (tag: Tag) =>
  (inside: readonly Part[]): Html =>
    tag(joined(inside))

const joined = (parts: readonly Part[]): Html => html`${parts.map((part) => html`${part}`)}`
