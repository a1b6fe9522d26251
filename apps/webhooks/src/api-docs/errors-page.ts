import { oauthErrorReasons } from '../oauth/oauth-docs.js'
import { errorReasons } from '../api/v1-docs.js'

/** docs/errors.md: every error code that a caller can get. */
export const errorsPage = (): string =>
  [
    '# Errors of the webhooks service',
    '',
    'Generated from the tables in the source by `npm run docs`; change those, not this file.',
    '',
    '## `/v1`, `/account` and the internal API',
    '',
    '`{"error": {"code", "message"}}`. Go by status and code; messages are for people and may change.',
    '',
    '| HTTP | code | When |',
    '| --- | --- | --- |',
    ...errorReasons.map(({ status, code, when }) => `| ${status} | \`${code}\` | ${when} |`),
    '',
    '## OAuth endpoints',
    '',
    '`{"error", "error_description"}`, in the response or as parameters of the redirect; a page says it in words. `invalid_client` is',
    '401 (400 at the authorization endpoint, where nobody authenticates), and so is `invalid_grant` for an account that is banned, deleted',
    'or was signed out everywhere. `not_found` is 404, `too_many_requests` 429, `server_error` 500, `temporarily_unavailable` 503,',
    '`request_timeout` 504, or 408 if the body did not arrive in time. Everything else is 400, but 405 for another method, 413 for a body',
    'that is too large and 403 for a form that did not come from an open page of this service.',
    '',
    '| error | When |',
    '| --- | --- |',
    ...Object.entries(oauthErrorReasons).map(([code, when]) => `| \`${code}\` | ${when} |`),
    '',
  ].join('\n')
