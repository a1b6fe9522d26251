import type { TestServer } from './server.js'

/** What the database has as the password of a user; null if the user has none. */
export async function passwordHashOf(
  { context }: Pick<TestServer, 'context'>,
  email: string,
): Promise<string | null> {
  const { rows } = await context.db.query<{ hash: string | null }>(
    'select encrypted_password as hash from users where email = $1',
    [email],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`there is no user ${email}`)
  return row.hash
}
