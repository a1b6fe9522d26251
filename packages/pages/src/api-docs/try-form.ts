import type { JsonSchema, ParameterDoc, Route } from '@signet/http'
import { bodySchemaOf, exampleOf } from '@signet/http/open-api'
import { html, type Html } from '../html.js'

export const templateOf = ({ path }: Route): string => path.replace(/:(\w+)/g, '{$1}')

/** A form that sends the operation. The page's script reveals it, and shows the answer below it. */
export function tryForm(
  route: Route,
  inPath: readonly ParameterDoc[],
  schemas: Readonly<Record<string, JsonSchema>>,
): Html {
  const { docs, method, body } = route
  const isForm = body?.as === 'form'
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
  const schema = bodySchemaOf(route)
  const secured = (docs.security ?? []).length > 0
  return html`<details>
    <summary aria-label="Try it: ${docs.summary}">Try it</summary>
    <form
      class="try"
      hidden
      autocomplete="off"
      data-method="${method.toUpperCase()}"
      data-path="${templateOf(route)}"
      data-type="${type}"
      ${secured && html`data-secured`}
    >
      ${secured && html`<p>Sent with the token in <a href="#token">the field of this page</a>.</p>`}
      ${[...inPath, ...(docs.parameters ?? [])].map(input)}
      ${
        schema &&
        html`<label
          >Body, JSON${isForm && ', sent as a form'}
          <textarea name="body" rows="6" spellcheck="false">
${JSON.stringify(docs.bodyExample ?? exampleOf(schema, schemas), null, 2)}</textarea>
        </label>`
      }
      <button aria-label="Send: ${docs.summary}">Send</button>
      <p role="status"></p>
      <pre hidden tabindex="0" role="group" aria-label="Answer: ${docs.summary}"></pre>
    </form>
    <p class="without-script">
      Sending requests from this page needs its script. The same request works with curl.
    </p>
  </details>`
}

const input = ({ in: kind, name, required = false }: ParameterDoc): Html =>
  html`<label
    >${name}${required && ', required'}
    <input name="${kind}:${name}" spellcheck="false" autocapitalize="off" ${required && html`required`}
  /></label>`
