import { html, type Html } from '@signet/pages'

/** What the forms of a page have in common. */
export type Forms = { action: (below: string) => string; fields: readonly Html[] }

const shown = (parts: readonly (Html | null)[]): Html[] => parts.filter((part) => part !== null)

export const section = (title: string, ...content: readonly (Html | null)[]): Html =>
  html`<section>
    <h2>${title}</h2>
    ${shown(content)}
  </section>`

export const entries = (items: readonly Html[]): Html =>
  html`<ul class="entries">
    ${items.map((item) => html`<li>${item}</li>`)}
  </ul>`

export const line = (title: string, more: string | null, ...actions: readonly (Html | null)[]): Html =>
  html`<p><strong>${title}</strong></p>
    ${more === null ? null : html`<p class="soft">${more}</p>`} ${shown(actions)}`

/** What a control does, and for which list entry, for people who hear it without its context. */
export const named = (label: string, entry: string | undefined): Html | undefined =>
  entry === undefined ? undefined : html` aria-label="${label}: ${entry}"`

/** A form with a single button. */
export const button = (
  view: Forms,
  below: string,
  label: string,
  more: Html | null = null,
  entry?: string,
): Html =>
  html`<form method="post" action="${view.action(below)}">
    ${view.fields} ${more}
    <button class="plain" type="submit" ${named(label, entry)}>${label}</button>
  </form>`

export const disclosure = (label: string, entry: string, content: Html): Html =>
  html`<details>
    <summary ${named(label, entry)}>${label}</summary>
    ${content}
  </details>`

/** Asks for confirmation, without a separate page or a script. */
export const guarded = (label: string, entry: string, question: string, form: Html): Html =>
  disclosure(
    label,
    entry,
    html`<p>${question}</p>
      ${form}`,
  )

export const hiddenField = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}" />`
