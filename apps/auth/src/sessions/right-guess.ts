import type { Tables } from '../database/tables.js'

/**
 * SQL that takes back the guess counted in row `id`; null takes back nothing. Used alone, and as a part of the statement that opens a
 * session.
 */
export const takeBackGuess = (t: Tables, id: string): string =>
  `update ${t.signInAttempts} set failures = failures - 1 where id = ${id} and failures > 0`
