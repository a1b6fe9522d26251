import type { Answer, Route } from '@signet/http'
import { html } from '@signet/pages'
import { explainSignature } from '../signatures/signature-check.js'
import { keptOf, portalGet, portalPost, type PortalDeps } from './portal-kit.js'
import type { Visit } from './visit.js'

/** The helper "is this signature right". What is pasted here is kept for the next page only, the secret not at all. */
export const signatureRoutes = (deps: PortalDeps & { now: () => Date }): Route[] => [
  portalGet(deps, '/signatures', 'Check a signature', (visit) => Promise.resolve(show(visit))),
  portalPost(
    deps,
    '/signatures',
    'Check a signature',
    () => '/signatures',
    (_visit, fields) => {
      const received = {
        secret: (fields.get('secret') ?? '').trim(),
        headers: fields.get('headers') ?? '',
        body: fields.get('body') ?? '',
      }
      const verdicts = explainSignature(received, deps.now())
      return Promise.resolve({ to: '/signatures', verdicts, typed: keptOf(received) })
    },
  ),
]

function show(visit: Visit): Answer {
  const { verdicts, typed } = visit
  const result = verdicts.map(
    ({ header, isRight, explanation }) =>
      html`<p class="${isRight ? 'good' : 'notice'}" role="${isRight ? 'status' : 'alert'}">
        <code>${header}</code>: ${explanation}
      </p>`,
  )
  const content = html`<p>
      Paste a request as your endpoint received it. It is kept, sealed and without the secret, only until you
      see the result.
    </p>
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
        <textarea id="headers" name="headers" required spellcheck="false">${typed.get('headers')}</textarea>
        <label for="body">Body</label>
        <textarea id="body" name="body" required spellcheck="false">${typed.get('body')}</textarea>
        <button class="narrow" type="submit">Check</button>`,
    )}
    <p class="soft">
      A form changes line breaks, and your framework may have changed the body: compare with the payload of
      the delivery. Libraries for Node, Python, Go, PHP and Ruby are in <code>@signet/webhook-verify</code>.
    </p>`
  return visit.render({ title: 'Check a signature', section: 'signatures', body: content })
}
