import { field, hidden, html, notice, waitingButton, type Html, type Page } from '@signet/pages'
import type { UiTexts } from '../texts.js'
import { foot, link } from './parts.js'

export type AccountAddressView = {
  kind: 'email' | 'phone'
  current: string | null
  value: string
  notice?: string | undefined
  fault?: string | undefined
  /** A pending change: which codes finish it, and where to cancel it. */
  waiting: {
    address: string
    confirm: string
    cancel: string
    /** How long until the messages can be sent again. */
    waitSeconds: number
    codes: readonly { name: string; address: string }[]
  } | null
  form: { action: string; fields: readonly Html[] }
  back: string
}

/** A new email address or phone number, and the codes that prove it. */
export function accountAddressPage(t: UiTexts, view: AccountAddressView): Page {
  const { kind, current, form, waiting } = view
  const title = t(kind === 'email' ? 'me.email.change' : 'me.phone.change')
  return {
    title,
    body: html`<h1>${title}</h1>
      ${current === null ? null : html`<p class="soft"><bdi>${current}</bdi></p>`}
      ${notice(view.notice, view.fault)} ${waiting === null ? null : waitingPart(t, view, waiting)}
      <form method="post" action="${form.action}">
        ${form.fields}
        ${field(t, {
          name: kind,
          label: t(labelOf(view)),
          type: kind === 'email' ? 'email' : 'tel',
          autocomplete: kind === 'email' ? 'email' : 'tel',
          value: view.value,
          ...(kind === 'phone' ? { hint: t('address.phone-hint') } : {}),
          fault: view.fault,
          first: waiting === null,
        })}
        <button class="${waiting === null ? '' : 'plain'}" type="submit">
          ${t(kind === 'email' ? 'me.email.button' : 'phone.button')}
        </button>
      </form>
      ${foot(link(view.back, t('me.back')))}`,
  }
}

const labelOf = ({ kind, waiting }: AccountAddressView) => {
  if (kind === 'email') return waiting === null ? 'me.email.new' : 'me.email.other'
  return waiting === null ? 'me.phone.new' : 'me.phone.other'
}

function waitingPart(
  t: UiTexts,
  { kind, fault, form }: AccountAddressView,
  { address, confirm, cancel, waitSeconds, codes }: NonNullable<AccountAddressView['waiting']>,
): Html {
  const email = codes.length > 1 ? 'me.email.waiting-both' : 'me.email.waiting'
  return html`<p role="status">${t(kind === 'phone' ? 'me.phone.waiting' : email, { address })}</p>
    ${codes.map((code, index) => codeForm(t, code, { action: confirm, fields: form.fields, fault, first: index === 0 }))}
    <form method="post" action="${form.action}">
      ${form.fields} ${hidden({ [kind]: address })}
      ${waitingButton(t, { label: t('me.send-again'), waitSeconds })}
    </form>
    <form method="post" action="${cancel}">
      ${form.fields}
      <button class="plain second" type="submit">
        ${t(kind === 'email' ? 'me.email.cancel' : 'me.phone.cancel')}
      </button>
    </form>`
}

const codeForm = (
  t: UiTexts,
  { name, address }: { name: string; address: string },
  {
    action,
    fields,
    fault,
    first,
  }: { action: string; fields: readonly Html[]; fault: string | undefined; first: boolean },
): Html =>
  html`<form method="post" action="${action}">
    ${fields} ${hidden({ half: name })}
    ${field(t, {
      name,
      label: t('me.code-for', { address }),
      autocomplete: 'one-time-code',
      inputmode: 'numeric',
      fault,
      first,
    })}
    <button class="second" type="submit">${t('me.confirm')}</button>
  </form>`
