import { dateTimeText } from '@signet/language'
import { html, type Html } from '@signet/pages'
import { withoutInvisible } from '@signet/pages/visible'
import type { Credential } from '../../webauthn/credential.js'
import type { Factor } from '../../users/user.js'
import type { UiKey, UiTexts } from '../texts.js'
import {
  button,
  disclosure,
  entries,
  guarded,
  hiddenField,
  line,
  section,
  type Forms,
} from './account-parts.js'
import { link } from './parts.js'

export type AccountKeys = Forms & {
  /** Null if passkeys are off. */
  passkeys: { held: readonly Credential[]; add: string | null } | null
  factors: readonly Factor[]
  addFactors: readonly { href: string; label: UiKey }[]
  recovery: { left: number; href: string } | null
}

export function passkeySection(t: UiTexts, view: AccountKeys): Html | null {
  const { passkeys } = view
  if (passkeys === null) return null
  return section(
    t('me.passkeys'),
    passkeys.held.length === 0 ? html`<p class="soft">${t('me.passkeys.none')}</p>` : null,
    entries(passkeys.held.map((passkey) => passkeyEntry(t, view, passkey))),
    passkeys.add === null ? null : html`<p>${link(passkeys.add, t('passkey.create'))}</p>`,
  )
}

function passkeyEntry(t: UiTexts, view: AccountKeys, passkey: Credential): Html {
  const { id, friendlyName, createdAt, lastUsedAt } = passkey
  const time = (at: Date) => dateTimeText(t.language, at)
  const added = time(createdAt)
  const name = withoutInvisible(friendlyName)
  const chosen = hiddenField('passkey', id)
  // Several passkeys may have the same name.
  const entry = `${name}. ${t('me.added', { time: added })}`
  return line(
    name,
    lastUsedAt === null
      ? t('me.added', { time: added })
      : t('me.passkey.used', { added, used: time(lastUsedAt) }),
    renaming(t, view, { kind: 'passkey', id, name, entry, label: 'me.passkey.name', maxLength: 120 }),
    guarded(
      t('me.remove'),
      entry,
      t('me.passkey.remove-question'),
      button(view, '/account/passkey/remove', t('me.factor.remove'), chosen, entry),
    ),
  )
}

type Named = {
  kind: 'passkey' | 'factor'
  id: string
  name: string
  entry: string
  label: UiKey
  maxLength: number
}

/** A form that shows the current name. */
const renaming = (t: UiTexts, view: AccountKeys, { kind, id, name, entry, label, maxLength }: Named): Html =>
  disclosure(
    t('me.rename'),
    entry,
    button(
      view,
      `/account/${kind}/rename`,
      t('me.rename.button'),
      html`${hiddenField(kind, id)} <label for="name-${id}">${t(label)}</label>
        <input
          id="name-${id}"
          name="name"
          autocomplete="off"
          maxlength="${maxLength}"
          required
          value="${name}"
        />`,
      entry,
    ),
  )

export function factorSection(t: UiTexts, view: AccountKeys): Html {
  const { factors, addFactors, recovery } = view
  return section(
    t('me.factors'),
    factors.length === 0 ? html`<p class="soft">${t('me.factors.none')}</p>` : null,
    entries([
      ...factors.map((factor) =>
        line(
          nameOf(t, factor),
          factorText(t, factor),
          renaming(t, view, {
            kind: 'factor',
            id: factor.id,
            name: withoutInvisible(factor.friendlyName).trim(),
            entry: nameOf(t, factor),
            label: 'me.factor.name',
            maxLength: 255,
          }),
          guarded(
            t('me.remove'),
            nameOf(t, factor),
            t('me.factor.remove-question'),
            button(
              view,
              '/account/factor/remove',
              t('me.factor.remove'),
              hiddenField('factor', factor.id),
              nameOf(t, factor),
            ),
          ),
        ),
      ),
      ...(recovery === null
        ? []
        : [
            line(
              t('me.recovery'),
              t('me.recovery.left', { count: recovery.left }),
              link(recovery.href, t('me.recovery.open')),
            ),
          ]),
    ]),
    addFactors.length === 0
      ? null
      : html`<p class="choices">${addFactors.map(({ href, label }) => html`${link(href, t(label))} `)}</p>`,
  )
}

/** Names the kind of factor, because the factor's own name may not say it. */
const factorText = (t: UiTexts, { factorType, phone, createdAt }: Factor): string =>
  [
    t(FACTOR_KINDS[factorType]),
    factorType === 'phone' && phone !== null ? `+${phone}` : null,
    t('me.added', { time: dateTimeText(t.language, createdAt) }),
  ]
    .filter((part) => part !== null)
    .join(' · ')

export const FACTOR_KINDS = {
  totp: 'me.factor.totp',
  phone: 'me.factor.phone',
  webauthn: 'me.factor.key',
} as const satisfies Record<Factor['factorType'], UiKey>

const nameOf = (t: UiTexts, { factorType, friendlyName }: Factor): string =>
  withoutInvisible(friendlyName).trim() || t(FACTOR_KINDS[factorType])
