import { unitText, type Language } from '@signet/language'
import { html, type Html } from './html.js'
import type { PageTexts } from './page-texts.js'

type Field = {
  name: string
  label: string
  type?: 'text' | 'email' | 'tel' | 'password'
  autocomplete: string
  inputmode?: 'numeric'
  value?: string
  /** Maximum number of characters. */
  maxLength?: number
  hint?: string
  /** The field that the notice of the page is about. */
  fault?: string | undefined
  /** Gets the focus, unless another field has an error. */
  first?: boolean
}

/** `id` of the notice that {@link notice} renders. */
export const NOTICE_ID = 'notice'

/** A labeled field, usable by screen readers and password managers. Passwords are never filled in. */
export function field(t: PageTexts, options: Field): Html {
  const { name, label, type = 'text', autocomplete, inputmode, value = '', hint } = options
  const isPassword = type === 'password'
  const { maxLength = isPassword ? 1024 : 320 } = options
  return html`<label for="${name}">${label}</label>
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      autocomplete="${autocomplete}"
      ${inputmode === undefined ? null : html`inputmode="${inputmode}"`}
      autocapitalize="none"
      spellcheck="false"
      maxlength="${maxLength}"
      required
      ${fieldState(options)}
      ${isPassword ? showable(t) : null}
      value="${isPassword ? '' : value}"
    />
    ${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}`
}

/** The labels that the script of forms gives its button. */
const showable = (t: PageTexts): Html =>
  html`data-show="${t('kit.password.show')}" data-hide="${t('kit.password.hide')}"`

type CodeField = Pick<Field, 'fault' | 'first'>

/** A one-time code; phones offer the one that just arrived. */
export const codeField = (t: PageTexts, { fault, first = true }: CodeField = {}): Html =>
  html`<label for="code">${t('kit.code')}</label>
    <input
      id="code"
      name="code"
      class="code"
      inputmode="numeric"
      autocomplete="one-time-code"
      pattern="[0-9 ]{6,12}"
      maxlength="12"
      required
      ${fieldState({ name: 'code', fault, first })}
    />`

/** Attributes of a field. If it has an error, screen readers read the error with the field, which also gets the focus. */
export function fieldState({
  name,
  hint,
  fault,
  first = false,
}: Pick<Field, 'name' | 'hint' | 'fault' | 'first'>): Html {
  const isFault = fault === name
  const described = [...(isFault ? [NOTICE_ID] : []), ...(hint === undefined ? [] : [`${name}-hint`])]
  return html`${isFault ? html`aria-invalid="true" ` : null}${
    described.length === 0 ? null : html`aria-describedby="${described.join(' ')}" `
  }${isFault || (first && fault === undefined) ? 'autofocus' : null}`
}

/**
 * A button for an action that cannot be repeated at once. It says how long to wait, and a script counts down. The service rejects a
 * request that comes too early.
 */
export const waitingButton = (
  t: PageTexts,
  { label, waitSeconds }: { label: string; waitSeconds: number },
): Html => {
  const waiting = (time: string) => t('kit.wait', { label, time })
  return html`<button
    class="plain second"
    type="submit"
    data-label="${label}"
    data-waiting="${waiting('%')}"
    data-seconds="${waitSeconds}"
  >
    ${waitSeconds === 0 ? label : waiting(timeLeft(t.language, waitSeconds))}
  </button>`
}

const timeLeft = (language: Language, seconds: number): string =>
  seconds > 120
    ? unitText(language, Math.ceil(seconds / 60), 'minute')
    : unitText(language, seconds, 'second')
