import { html, type Page } from '@signet/pages'
import type { Texts } from './texts.js'

/** Shown before consent if nobody is signed in anymore. Not a redirect, because a sign-in that does not count would cause a loop. */
export const signInAgainPage = (
  t: Texts,
  { clientName, href }: { clientName: string; href: string },
): Page => ({
  title: t('sign-in'),
  body: html`<h1>${t('sign-in.again')}</h1>
    <p class="soft">${t.html('sign-in.again.to', { client: clientName })}</p>
    <p><a class="button" href="${href}">${t('sign-in')}</a></p>`,
})
