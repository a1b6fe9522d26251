import pg from 'pg'

const EXPECTED = 'must be a URL such as postgres://user:password@host:5432/database'

/**
 * Returns the URL of a PostgreSQL database as it is. Throws for one that a connection could not read. The error says what is wrong
 * without repeating the value, which contains a password.
 */
export function parseDatabaseUrl(raw: string): string {
  if (!/^postgres(ql)?:\/\/\S*$/i.test(raw)) throw new RangeError(EXPECTED)
  try {
    // Reads the URL, and the certificates that it names, but does not connect.
    new pg.Client({ connectionString: raw })
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    if (path !== undefined) throw new RangeError(`names the file ${path}, which cannot be read (${code})`)
    throw new RangeError(`${EXPECTED}, with a percent-encoded user and password`)
  }
  return raw
}
