import { field, html, notice, type Html, type Page } from '@signet/pages'
import type { UiTexts } from '../texts.js'
import { foot, link } from './parts.js'

type Form = { action: string; fields: readonly Html[] }

export type AccountAddressView = {
  kind: 'email' | 'phone'
  current: string | null
  value: string
  notice?: string | undefined
  fault?: string | undefined
  /** A change that waits: which codes finish it. */
  waiting: { address: string; form: Form; codes: readonly { name: string; address: string }[] } | null
  form: Form
  back: string
}

/** A new email address or phone number, and the codes that prove it. */
export function accountAddressPage(t: UiTexts, view: AccountAddressView): Page {
  const title = t(view.kind === 'email' ? 'me.email.change' : 'me.phone.change')
  return {
    title,
    body: html`<h1>${title}</h1>
      ${view.current === null ? null : html`<p class="soft"><bdi>${view.current}</bdi></p>`}
      ${notice(view.notice, view.fault)} ${view.waiting === null ? null : waiting(t, view, view.waiting)}
      <form method="post" action="${view.form.action}">
        ${view.form.fields}
        ${field(t, {
          name: view.kind,
          label: t(view.kind === 'email' ? 'me.email.new' : 'me.phone.new'),
          type: view.kind === 'email' ? 'email' : 'tel',
          autocomplete: view.kind === 'email' ? 'email' : 'tel',
          value: view.value,
          ...(view.kind === 'phone' ? { hint: t('address.phone-hint') } : {}),
          fault: view.fault,
          first: view.waiting === null,
        })}
        <button class="${view.waiting === null ? '' : 'plain'}" type="submit">
          ${t(view.kind === 'email' ? 'me.email.button' : 'phone.button')}
        </button>
      </form>
      ${foot(link(view.back, t('me.back')))}`,
  }
}

const waiting = (
  t: UiTexts,
  { kind, fault }: AccountAddressView,
  { address, form, codes }: NonNullable<AccountAddressView['waiting']>,
): Html =>
  html`<p role="status">
      ${t(
        kind === 'phone'
          ? 'me.phone.waiting'
          : codes.length > 1
            ? 'me.email.waiting-both'
            : 'me.email.waiting',
        {
          address,
        },
      )}
    </p>
    ${codes.map(
      (code, index) =>
        html`<form method="post" action="${form.action}">
          ${form.fields} <input type="hidden" name="half" value="${code.name}" />
          ${field(t, {
            name: code.name,
            label: t('me.code-for', { address: code.address }),
            autocomplete: 'one-time-code',
            inputmode: 'numeric',
            fault,
            first: index === 0,
          })}
          <button class="second" type="submit">${t('me.confirm')}</button>
        </form>`,
    )}`
