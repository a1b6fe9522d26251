/**
 * The condition, in SQL, for using a credential of an account: the account is not deleted, not banned now, and was not signed out
 * everywhere since the person last proved who they are. It is part of the statement that finds the credential, so that nothing is
 * cached and an event of the identity server takes effect with its commit. Takes the names of two columns.
 */
export const accountAdmits = (accountId: string, authenticatedAt: string): string =>
  `not exists (select from account_states admission where admission.account_id = ${accountId}
     and (admission.deleted_at is not null or admission.banned_until > now()
          or admission.signed_out_at >= ${authenticatedAt}))`

/** The same for a browser session, which also ends with the session of the identity server that opened it. Takes the name of its row. */
export const sessionAdmits = (session: string): string =>
  `${accountAdmits(`${session}.account_id`, `${session}.authenticated_at`)}
   and not exists (select from ended_identity_sessions ended where ended.id = ${session}.identity_session_id)`
