import { DEFAULT_LANGUAGE, timestampText, type Language } from '@signet/language'
import { html, type Html } from './html.js'
import { kitTexts, type PageTexts } from './page-texts.js'

/** A time to the second and in UTC, because operators compare it with logs. */
export function time(at: Date, language?: Language): Html
export function time(at: Date | null, language?: Language): Html | null
export function time(at: Date | null, language: Language = DEFAULT_LANGUAGE): Html | null {
  return at && html`<time datetime="${at.toISOString()}">${timestampText(language, at)}</time>`
}

/** Facts as a list, without those that are absent. */
export const facts = (
  pairs: readonly (readonly [label: string, value: Html | string | number | null])[],
): Html =>
  html`<ul class="numbers">
    ${pairs.flatMap(([label, value]) =>
      value === null || value === '' ? [] : [html`<li><span class="soft">${label}</span> ${value}</li>`],
    )}
  </ul>`

/** A table. On a phone, each row becomes a block with the names of its columns, and the roles keep it a table for screen readers. */
export const table = (
  label: string,
  columns: readonly string[],
  rows: readonly (readonly Html[])[],
  t: PageTexts = kitTexts(DEFAULT_LANGUAGE),
): Html =>
  rows.length === 0
    ? html`<p class="soft">${t('kit.none')}</p>`
    : html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">
        <table role="table">
          <thead role="rowgroup">
            <tr role="row">
              ${columns.map((column) => html`<th scope="col" role="columnheader">${column}</th>`)}
            </tr>
          </thead>
          <tbody role="rowgroup">
            ${rows.map(
              (cells) =>
                html`<tr role="row">
                  ${cells.map((cell, index) => tableCell(columns[index], cell))}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`

const tableCell = (column: string | undefined, content: Html): Html =>
  html`<td role="cell" data-label="${column}">${content}</td> `
