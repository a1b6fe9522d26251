import { errorCodes } from '../errors/error-codes.js'

/** docs/errors.md: every code that a caller can get. */
export function errorsPage(): string {
  const rows = Object.entries(errorCodes).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`)
  return [
    '# Error codes of the identity server',
    '',
    'Generated from the table of codes by `npm run docs`; change the table, not this file.',
    '',
    'Requests without a version header get `{"code": <status>, "error_code": "<code>", "msg": "<text>"}`; requests with',
    '`X-Supabase-Api-Version: 2024-01-01` get `{"code": "<code>", "message": "<text>"}`. The header `x-sb-error-code`',
    'carries the code in both. Texts may change, codes do not.',
    '',
    '| Code | Meaning |',
    '| --- | --- |',
    ...rows,
    '',
  ].join('\n')
}
