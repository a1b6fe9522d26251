import { preferredLanguage, type Catalogues } from '@signet/language'
import { html, pageAnswer, pageTextsOf } from '@signet/pages'
import de from './texts/de.json' with { type: 'json' }
import en from './texts/en.json' with { type: 'json' }

export type CallbackKind = 'received' | 'denied' | 'foreign'

export const callbackCatalogues: Catalogues<keyof typeof en> = { en, de }

const textsIn = pageTextsOf(callbackCatalogues)

/** A complete page without any text from the request. It loads nothing, runs nothing and cannot be framed. */
export function callbackPage(
  kind: CallbackKind,
  acceptLanguage: string | undefined,
): { headers: Record<string, string>; body: string } {
  const t = textsIn(preferredLanguage({ acceptLanguage }))
  const body = html`<h1>${t(kind)}</h1>
    <p>${t.html(`${kind}.text`)}</p>`
  const answer = pageAnswer(
    { title: 'Signet', body },
    // The URL contains the code, so the browser must not send it as a referrer.
    { language: t.language, secure: false, headers: { 'Referrer-Policy': 'no-referrer' } },
  )
  return { headers: answer.headers ?? {}, body: String(answer.body) }
}
