import type { Catalogues, Language } from '@signet/language'
import type { MailContent } from '@signet/mail'
import { mailKinds, noticeKinds, type MailKind, type NoticeKind } from './kinds.js'
import de from './texts/mails.de.json' with { type: 'json' }
import en from './texts/mails.en.json' with { type: 'json' }

type Kind = MailKind | NoticeKind
type MailKey = keyof typeof en

/** The texts of emails are templates like those of operators: `{{ .Email }}`. */
export const mailCatalogues: Catalogues<MailKey> = { en, de }

export const mailText = (language: Language, key: MailKey): string => mailCatalogues[language][key]

/** The texts of the built-in emails in a language (docs/specification.md#emails). */
export const contentsIn = (language: Language): ReadonlyMap<Kind, MailContent> =>
  new Map([...mailKinds, ...noticeKinds].map((kind) => [kind, contentOf(language, kind)]))

function contentOf(language: Language, kind: Kind): MailContent {
  const text = (key: MailKey) => mailText(language, key)
  const optional = (part: string) =>
    isMailKey(`${kind}.${part}`) ? text(`${kind}.${part}` as MailKey) : undefined
  const tellsWhatHappened = kind.endsWith('_notification') && kind !== 'account_exists_notification'
  return {
    subject: text(`${kind}.subject`),
    heading: text(`${kind}.heading`),
    sentence: text(`${kind}.sentence`),
    advice: optional('advice'),
    button: optional('button'),
    recovery: optional('recovery'),
    code: mailKinds.some((withCode) => withCode === kind),
    // An invitation names the person who invites instead. The request usually comes from a server, whose address would mean nothing to the
    // reader.
    ...(kind === 'invite'
      ? {}
      : { facts: [{ label: text(tellsWhatHappened ? 'happened' : 'asked'), value: '{{ .AskedBy }}' }] }),
    closing: optional('closing') ?? text(tellsWhatHappened ? 'alarm' : 'not-you'),
  }
}

const isMailKey = (key: string): key is MailKey => Object.hasOwn(en, key)
