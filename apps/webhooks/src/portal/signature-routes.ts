import type { Answer, Route } from '@signet/http'
import { html } from '@signet/pages'
import { explainSignature, type SignatureVerdict } from '../signatures/signature-check.js'
import { portalGet, portalPost, type PortalDeps, type Visit } from './portal-kit.js'

type Typed = { secret: string; headers: string; body: string }

/** The helper "is this signature right". Nothing that is pasted here is kept. */
export const signatureRoutes = (deps: PortalDeps & { now: () => Date }): Route[] => [
  portalGet(deps, '/signatures', 'Check a signature', (visit) =>
    Promise.resolve(show(visit, { secret: '', headers: '', body: '' })),
  ),
  portalPost(deps, '/signatures', 'Check a signature', (visit, fields) => {
    const typed = {
      secret: (fields.get('secret') ?? '').trim(),
      headers: fields.get('headers') ?? '',
      body: fields.get('body') ?? '',
    }
    return Promise.resolve(show(visit, typed, explainSignature(typed, deps.now())))
  }),
]

function show(visit: Visit, { headers, body }: Typed, verdicts: readonly SignatureVerdict[] = []): Answer {
  const result = verdicts.map(
    ({ header, isRight, explanation }) =>
      html`<p class="${isRight ? 'good' : 'notice'}" role="${isRight ? 'status' : 'alert'}">
        <code>${header}</code>: ${explanation}
      </p>`,
  )
  const content = html`<p>Paste a request as your endpoint received it. Nothing of it is stored.</p>
    ${result}
    ${visit.form(
      '/signatures',
      html`<label for="secret">Signing secret</label>
        <input
          id="secret"
          name="secret"
          autocomplete="off"
          spellcheck="false"
          required
          placeholder="whsec_…"
        />
        <label for="headers">Headers</label>
        <textarea id="headers" name="headers" required spellcheck="false">${headers}</textarea>
        <label for="body">Body</label>
        <textarea id="body" name="body" required spellcheck="false">${body}</textarea>
        <button class="narrow" type="submit">Check</button>`,
    )}
    <p class="soft">
      A form changes line breaks, and your framework may have changed the body: compare with the payload of
      the delivery. Libraries for Node, Python, Go, PHP and Ruby are in <code>@signet/webhook-verify</code>.
    </p>`
  return visit.render({ title: 'Check a signature', section: 'signatures', body: content })
}
