import { captchaWidget, html, type Captcha, type Html } from '@signet/pages'

type Field = {
  name: string
  label: string
  type?: 'text' | 'email' | 'tel' | 'password'
  autocomplete: string
  value?: string
  hint?: string
}

/** A labelled field, usable by screen readers and password managers. */
export function field({ name, label, type = 'text', autocomplete, value = '', hint }: Field): Html {
  const isPassword = type === 'password'
  return html`<label for="${name}">${label}</label>
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      autocomplete="${autocomplete}"
      autocapitalize="none"
      spellcheck="false"
      maxlength="${isPassword ? 1024 : 320}"
      required
      ${hint === undefined ? null : html`aria-describedby="${name}-hint"`}
      value="${isPassword ? '' : value}"
    />
    ${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}`
}

/** One-time codes; phones offer the one that just arrived. */
export const codeField = html`<label for="code">Code</label>
  <input
    id="code"
    name="code"
    class="code"
    inputmode="numeric"
    autocomplete="one-time-code"
    pattern="[0-9 ]{6,12}"
    maxlength="12"
    required
  />`

export const captchaField = (captcha: Captcha | null): Html | null =>
  captcha &&
  html`${captchaWidget(captcha)}
    <noscript><p class="notice">Proving that you are a person needs JavaScript here.</p></noscript>`

export const link = (href: string, text: string): Html => html`<a href="${href}">${text}</a>`

export const foot = (...links: readonly (Html | null)[]): Html => {
  const shown = links.filter((item): item is Html => item !== null)
  return html`<p class="foot links">${shown.map((item) => html`<span>${item}</span> `)}</p>`
}
