import { html, table, time, type Html, type Page } from '@signet/pages'
import type { AuditEntry } from '../../admin/audit-list-store.js'
import { operatorPage, type OperatorLinks } from './operator-search-page.js'

/** What a search of the audit log is about, as the admin API names it. */
export const AUDIT_SCOPES = { author: 'Who', action: 'Action', type: 'Kind of action' } as const

type AuditView = OperatorLinks & {
  scope: string
  text: string
  entries: readonly AuditEntry[]
}

/** The newest entries of the audit log that fit. */
export const operatorAuditPage = ({ scope, text, entries, ...links }: AuditView): Page =>
  operatorPage(links, {
    title: 'Audit log',
    body: html`<form method="get" action="${links.audit}" class="filters">
        <div>
          <label for="scope">Search in</label>
          <select id="scope" name="scope">
            ${Object.entries(AUDIT_SCOPES).map(
              ([name, label]) =>
                html`<option value="${name}" ${name === scope && html`selected`}>${label}</option>`,
            )}
          </select>
        </div>
        <div>
          <label for="text">Contains</label>
          <input id="text" name="text" value="${text}" autocomplete="off" maxlength="320" />
        </div>
        <div><button class="plain" type="submit">Filter</button></div>
      </form>
      <p class="soft">The newest 50 that fit.</p>
      ${auditTable(entries, links)}`,
  })

/** Entries; with links, each leads to the account that it is about. */
export const auditTable = (entries: readonly AuditEntry[], links?: OperatorLinks): Html =>
  table(
    'Audit log',
    ['Time', 'Action', 'By', 'Address', ...(links ? ['About'] : [])],
    entries.map(({ created_at: at, payload, ip_address: ip }) => [
      html`${time(at)}`,
      html`<code>${textIn(payload, 'action')}</code>`,
      html`${textIn(payload, 'actor_username')}`,
      html`${ip}`,
      ...(links ? [aboutOf(payload, links)] : []),
    ]),
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
