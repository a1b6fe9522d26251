import { captchaWidget, html, type Captcha, type Html } from '@signet/pages'

export const captchaField = (captcha: Captcha | null): Html | null =>
  captcha &&
  html`${captchaWidget(captcha)}
    <noscript><p class="notice">Proving that you are a person needs JavaScript here.</p></noscript>`

export const link = (href: string, text: string): Html => html`<a href="${href}">${text}</a>`

export const foot = (...links: readonly (Html | null)[]): Html => {
  const shown = links.filter((item): item is Html => item !== null)
  return html`<p class="foot links">${shown.map((item) => html`<span>${item}</span> `)}</p>`
}
