import { captchaWidget, html, type Captcha, type Html } from '@signet/pages'
import type { UiTexts } from '../texts.js'

export const captchaField = (t: UiTexts, captcha: Captcha | null): Html | null =>
  captcha &&
  html`${captchaWidget(captcha)} <noscript><p class="notice">${t('captcha.no-script')}</p></noscript>`

/** Tells password managers whose password this is, on pages that do not ask for the name. */
export const accountName = (address: string): Html =>
  html`<input type="text" autocomplete="username" value="${address}" readonly hidden />`

export const link = (href: string, text: string): Html => html`<a href="${href}">${text}</a>`

export const foot = (...links: readonly (Html | null)[]): Html => {
  const shown = links.filter((item): item is Html => item !== null)
  return html`<p class="foot links">${shown.map((item) => html`<span>${item}</span> `)}</p>`
}
