import { type Html, html } from '@signet/pages'
import { DEFAULT_RETRY_DELAYS_SECONDS, FAILURES_TO_DISABLE } from '@signet/webhook-core'
import { retryDelays } from './retry-delays.js'

/** Introduction for readers before their first call. */
export const introduction = (baseUrl: string): Html =>
  html`<section id="start" aria-label="Start here">
    <h2>Start here</h2>
    <p>
      Connect an application, create a webhook, and receive a signed HTTPS POST whenever the summary of a
      recording is ready. The machine-readable form of this page is
      <a href="${baseUrl}/openapi.json">openapi.json</a>.
    </p>
    <h3>A token</h3>
    <p>
      Every call to <code>/v1</code> needs <code>Authorization: Bearer …</code> with an OAuth access token of
      scope <code>mcp:connect</code>, or with a personal token made by the command-line tool. One token
      belongs to one account. OAuth clients find everything they need in
      <a href="${baseUrl}/.well-known/oauth-authorization-server">the discovery document</a>.
    </p>
    <h3>A first webhook</h3>
    <pre tabindex="0" role="group" aria-label="Example">
curl -X POST ${baseUrl}/v1/webhooks \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{"url":"https://example.com/hook","events":["summary.completed"]}'</pre>
    <p>
      The response contains the signing <code>secret</code>, which is never shown again. Then send yourself an
      event:
    </p>
    <pre tabindex="0" role="group" aria-label="Example">
curl -X POST ${baseUrl}/v1/webhooks/$ENDPOINT_ID/test -H "Authorization: Bearer $TOKEN"</pre>
    <h3>What arrives</h3>
    <p>An event as JSON, <code>{id, type, created_at, data}</code>, with these headers:</p>
    <table>
      <tbody>
        <tr>
          <th scope="row"><code>X-Service-Event</code></th>
          <td>the type of the event</td>
        </tr>
        <tr>
          <th scope="row"><code>X-Service-Delivery</code></th>
          <td>the id of the delivery, the same for every attempt</td>
        </tr>
        <tr>
          <th scope="row"><code>X-Service-Timestamp</code></th>
          <td>when this attempt was signed, in Unix seconds</td>
        </tr>
        <tr>
          <th scope="row"><code>X-Service-Signature</code></th>
          <td>
            <code>sha256=</code> and the hex HMAC-SHA256 of timestamp, a dot and the raw body, keyed with the
            whole secret, <code>whsec_</code> included
          </td>
        </tr>
        <tr>
          <th scope="row">
            <code>webhook-id</code>, <code>webhook-timestamp</code>, <code>webhook-signature</code>
          </th>
          <td>
            the id of the event, the same time, and the signatures of Standard Webhooks, which its libraries
            verify
          </td>
        </tr>
      </tbody>
    </table>
    <p>
      Verify the signature over the bytes as they came, before parsing them, in constant time, and refuse old
      timestamps. Respond with 2xx within 5 seconds, counted from when your host name is looked up until the
      status line and headers of your response have arrived. Anything else is retried after about
      ${retryDelays(DEFAULT_RETRY_DELAYS_SECONDS)}. After ${FAILURES_TO_DISABLE} consecutive failures the
      webhook is disabled until it is enabled again. Delivery is at least once: drop events whose
      <code>id</code> you have seen. Text of transcripts and summaries is untrusted content of users.
    </p>
    <h3>Errors</h3>
    <p>
      Errors are <code>{"error": {"code", "message"}}</code>. Rely on the code. Every response carries
      <code>X-Request-Id</code>, which support will ask for.
    </p>
  </section>`
