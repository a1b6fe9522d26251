import { IntlMessageFormat } from 'intl-messageformat'
import type { Language } from './languages.js'

/** The same messages in every language, written in ICU MessageFormat (decision 0207). */
export type Catalogues<Key extends string> = Readonly<Record<Language, Readonly<Record<Key, string>>>>

export type MessageValue = string | number
export type MessageValues = Readonly<Record<string, MessageValue>>

export type Texts<Key extends string> = {
  readonly language: Language
  (key: Key, values?: MessageValues): string
  /**
   * The parts of a message in order: texts, and the values from `values`. For `<b>…</b>` in a message, calls the value named `b` with
   * the parts inside. Texts are not escaped: they are as they are in the catalogue or the values.
   */
  parts<Made>(key: Key, values: Readonly<Record<string, PartValue<Made>>>): readonly (string | Made)[]
}

type PartValue<Made> = MessageValue | Made | ((inside: readonly (string | Made)[]) => Made)

/** Returns the messages of a catalogue, by language. Each message is parsed when it is first needed. */
export function textsOf<Key extends string>(catalogues: Catalogues<Key>): (language: Language) => Texts<Key> {
  const made = new Map<Language, Texts<Key>>()
  return (language) => {
    const known = made.get(language) ?? textsIn(language, catalogues[language])
    made.set(language, known)
    return known
  }
}

function textsIn<Key extends string>(
  language: Language,
  catalogue: Readonly<Record<Key, string>>,
): Texts<Key> {
  const parsed = new Map<Key, IntlMessageFormat>()
  const messageOf = (key: Key): IntlMessageFormat => {
    const message = parsed.get(key) ?? new IntlMessageFormat(catalogue[key], language)
    parsed.set(key, message)
    return message
  }
  const text = (key: Key, values: MessageValues = {}): string => String(messageOf(key).format(values))
  return Object.assign(text, {
    language,
    parts<Made>(key: Key, values: Readonly<Record<string, PartValue<Made>>>) {
      const formatted = messageOf(key).format<Made>(values)
      return Array.isArray(formatted) ? formatted : [formatted]
    },
  })
}
