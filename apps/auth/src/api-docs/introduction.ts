import { html, type Html } from '@signet/pages'

/** What a reader needs before the first call. */
export const introduction = (baseUrl: string): Html =>
  html`<section id="start" aria-label="Start here">
    <h2>Start here</h2>
    <p>
      Accounts, sign-in, second factors and sessions. The machine-readable form of this page is
      <a href="${baseUrl}/openapi.json">openapi.json</a>.
    </p>
    <h3>Sign up and sign in</h3>
    <pre tabindex="0" role="group" aria-label="Sign up with curl">
curl -X POST ${baseUrl}/signup -H "Content-Type: application/json" \\
  -d '{"email":"ada@example.com","password":"correct horse battery staple"}'</pre>
    <p>
      Unless the service confirms addresses by itself, an email follows with a link and a code. Then there is
      a session for the password:
    </p>
    <pre tabindex="0" role="group" aria-label="Sign in with curl">
curl -X POST "${baseUrl}/token?grant_type=password" -H "Content-Type: application/json" \\
  -d '{"email":"ada@example.com","password":"correct horse battery staple"}'</pre>
    <p>
      The <code>access_token</code> is a JWT. Send it as <code>Authorization: Bearer …</code>; other services
      verify it with <a href="${baseUrl}/.well-known/jwks.json">the public keys</a>. Before it expires,
      exchange the <code>refresh_token</code> for the next session with the grant <code>refresh_token</code>;
      each works once.
    </p>
    <h3>Versions</h3>
    <p>
      Requests with <code>X-Supabase-Api-Version: 2024-01-01</code> get the newer form of errors and of some
      answers, marked on this page where it matters.
    </p>
    <h3>Errors</h3>
    <p>
      Errors are <code>{"code": 400, "error_code": "…", "msg": "…"}</code>, with the header above
      <code>{"code": "…", "message": "…"}</code>. Go by the code, which is in the header
      <code>x-sb-error-code</code> too. A 429 says in <code>Retry-After</code> how long to wait.
    </p>
  </section>`
