import { html, type Html } from './html.js'

/** In UTC, which operators compare with logs. */
const timeText = (at: Date): string => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`

export const time = (at: Date | null): Html | null =>
  at && html`<time datetime="${at.toISOString()}">${timeText(at)}</time>`

/** Facts as a list: what is absent is left out. */
export const facts = (
  pairs: readonly (readonly [label: string, value: Html | string | number | null])[],
): Html =>
  html`<ul class="numbers">
    ${pairs.flatMap(([label, value]) =>
      value === null || value === '' ? [] : [html`<li><span class="soft">${label}</span> ${value}</li>`],
    )}
  </ul>`

export const table = (label: string, columns: readonly string[], rows: readonly (readonly Html[])[]): Html =>
  rows.length === 0
    ? html`<p class="soft">None.</p>`
    : html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">
        <table>
          <thead>
            <tr>
              ${columns.map((column) => html`<th scope="col">${column}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${rows.map(
              (cells) =>
                html`<tr>
                  ${cells.map((cell) => html`<td>${cell}</td>`)}
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`
