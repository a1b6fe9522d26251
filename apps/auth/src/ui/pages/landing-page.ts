import { html, type Page } from '@signet/pages'
import type { UiTexts } from '../texts.js'
import { foot, link } from './parts.js'

export type LandingView = { site: string; siteUrl: string; signIn: string; signUp: string | null }

/** Shown to people who open the address of the service itself. */
export const landingPage = (t: UiTexts, { site, siteUrl, signIn, signUp }: LandingView): Page => ({
  title: t('landing.title', { site }),
  body: html`<h1>${t.html('landing.heading', { site })}</h1>
    <p>${t('landing.text', { site })}</p>
    <a class="button" href="${signIn}">${t('sign-in')}</a>
    ${foot(signUp === null ? null : link(signUp, t('sign-up')), link(siteUrl, t('account.go-to', { site })))}`,
})
