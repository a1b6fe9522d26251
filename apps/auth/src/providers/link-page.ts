import type { Catalogues, Language } from '@signet/language'
import { hidden, html, pageTextsOf, type Page } from '@signet/pages'
import { providerLabel } from '@signet/pages/provider-label'
import de from './texts/link.de.json' with { type: 'json' }
import en from './texts/link.en.json' with { type: 'json' }

const linkCatalogues: Catalogues<keyof typeof en> = { en, de }
const textsIn = pageTextsOf(linkCatalogues)

export type LinkView = {
  provider: string
  account: string | null
  action: string
  fields: Readonly<Record<string, string>>
}

/** Asks for confirmation before adding a sign-in method, and names the account. */
export function linkPage(language: Language, { provider: name, account, action, fields }: LinkView): Page {
  const t = textsIn(language)
  const provider = providerLabel(name)
  return {
    title: t('title', { provider }),
    body: html`<h1>${t('heading', { provider })}</h1>
      <p>${t.html('text', { provider, account: account ?? t('guest') })}</p>
      <p>${t('not-yours')}</p>
      <form method="post" action="${action}">
        ${hidden(fields)}
        <button type="submit">${t('button', { provider })}</button>
      </form>`,
  }
}
