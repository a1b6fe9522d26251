import { html, table, time, type Html, type Page } from '@signet/pages'
import type { AuditEntry } from '../../admin/audit-list-store.js'
import type { UiTexts } from '../texts.js'
import { operatorPage, type OperatorLinks } from './operator-search-page.js'

/** What a search of the audit log can look for, with the names of the admin API. */
const AUDIT_SCOPES = ['author', 'action', 'type'] as const

export const isAuditScope = (text: string): boolean => AUDIT_SCOPES.some((scope) => scope === text)

type AuditView = OperatorLinks & {
  scope: string
  text: string
  entries: readonly AuditEntry[]
}

/** The newest entries of the audit log that match. */
export const operatorAuditPage = (t: UiTexts, { scope, text, entries, ...links }: AuditView): Page =>
  operatorPage(t, links, {
    title: t('op.audit'),
    body: html`<form method="get" action="${links.audit}" class="filters">
        <div>
          <label for="scope">${t('op.audit.in')}</label>
          <select id="scope" name="scope">
            ${AUDIT_SCOPES.map(
              (name) =>
                html`<option value="${name}" ${name === scope && html`selected`}>
                  ${t(`op.audit.in.${name}`)}
                </option>`,
            )}
          </select>
        </div>
        <div>
          <label for="text">${t('op.audit.contains')}</label>
          <input id="text" name="text" value="${text}" autocomplete="off" maxlength="320" />
        </div>
        <div><button class="plain" type="submit">${t('op.audit.filter')}</button></div>
      </form>
      <p class="soft">${t('op.audit.newest')}</p>
      ${auditTable(t, entries, links)}`,
  })

/** A table of entries. With `links`, each entry leads to the account that it is about. */
export const auditTable = (t: UiTexts, entries: readonly AuditEntry[], links?: OperatorLinks): Html =>
  table(
    t('op.audit'),
    [t('op.time'), t('op.action'), t('op.actor'), t('op.address'), ...(links ? [t('op.about')] : [])],
    entries.map(({ created_at: at, payload, ip_address: ip }) => [
      html`${time(at, t.language)}`,
      html`<code>${textIn(payload, 'action')}</code>`,
      html`${textIn(payload, 'actor_username')}`,
      html`${ip}`,
      ...(links ? [aboutOf(payload, links)] : []),
    ]),
    t,
  )

function aboutOf(payload: AuditEntry['payload'], { userPath }: OperatorLinks): Html {
  const traits = (payload['traits'] ?? {}) as Record<string, unknown>
  const id = textIn(traits, 'user_id') || textIn(payload, 'actor_id')
  return html`<a href="${userPath(id)}"><code>${id}</code></a>`
}

const textIn = (values: Readonly<Record<string, unknown>>, name: string): string => {
  const value = values[name]
  return typeof value === 'string' ? value : ''
}
