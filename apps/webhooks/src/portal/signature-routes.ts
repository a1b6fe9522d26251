import type { Answer, Route } from '@signet/http'
import { html } from '@signet/pages'
import type { PageForm } from '../forms/page-form.js'
import { checkSignature } from '../signatures/signature-check.js'
import { keptOf, portalGet, portalPost, type PortalDeps } from './portal-kit.js'
import type { PortalContext } from './portal-context.js'

/** The signature checker. Content that people paste is kept only for the next page; the secret is never kept. */
export const signatureRoutes = (deps: PortalDeps & { now: () => Date }): Route[] => [
  portalGet(deps, '/signatures', 'Check a signature', (portal) => Promise.resolve(show(portal))),
  portalPost(
    deps,
    '/signatures',
    'Check a signature',
    () => '/signatures',
    ({ t }, fields) => {
      const received = {
        secret: (fields.get('secret') ?? '').trim(),
        headers: fields.get('headers') ?? '',
        body: fields.get('body') ?? '',
      }
      const verdicts = checkSignature(received, deps.now()).map(
        ({ header, isRight, finding, timeHeader, seconds }) => ({
          header,
          isRight,
          explanation: t(`portal.verdict.${finding}`, { header: timeHeader, seconds }),
        }),
      )
      return Promise.resolve({ to: '/signatures', verdicts, typed: shortOf(keptOf(received)) })
    },
    MAX_BYTES,
  ),
]

/** Has room for an event of the target size, percent-encoded. */
const MAX_BYTES = 4 * 1024 * 1024
/** Longer texts are not kept for the result page. */
const MAX_KEPT_BYTES = 32 * 1024

/** Replaces the texts that are too long to be kept with the names of their fields, in `long`. */
function shortOf(fields: PageForm): PageForm {
  const isShort = ([, text]: [string, unknown]) =>
    // The JSON of a text is longer than the text, and takes long to write.
    String(text).length <= MAX_KEPT_BYTES && Buffer.byteLength(JSON.stringify(text)) <= MAX_KEPT_BYTES
  const all = Object.entries(fields)
  return {
    ...Object.fromEntries(all.filter(isShort)),
    long: all.filter((field) => !isShort(field)).map(([name]) => name),
  }
}

function show(portal: PortalContext): Answer {
  const { t, verdicts, typed } = portal
  const result = verdicts.map(
    ({ header, isRight, explanation }) =>
      html`<p class="${isRight ? 'good' : 'notice'}" role="${isRight ? 'status' : 'alert'}">
        <code>${header}</code>: ${explanation}
      </p>`,
  )
  const content = html`<p>${t('portal.signature.paste')}</p>
    ${result}
    ${portal.form(
      '/signatures',
      html`<label for="secret">${t('portal.secret.heading')}</label>
        <input
          id="secret"
          name="secret"
          autocomplete="off"
          spellcheck="false"
          required
          placeholder="whsec_…"
        />
        <label for="headers">${t('portal.headers')}</label>
        <textarea id="headers" name="headers" required spellcheck="false">${typed.get('headers')}</textarea>
        <label for="body">${t('portal.signature.body')}</label>
        <textarea id="body" name="body" required spellcheck="false">${typed.get('body')}</textarea>
        ${typed.all('long').includes('body') && html`<p class="hint">${t('portal.signature.long')}</p>`}
        <button class="narrow" type="submit">${t('portal.signature.check')}</button>`,
    )}
    <p class="soft">${t.html('portal.signature.advice')}</p>`
  return portal.render({ title: t('portal.signature.title'), section: 'signatures', body: content })
}
