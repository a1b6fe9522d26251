import type { Tables } from '../database/tables.js'

/**
 * Takes back the guess that row `id` counted: a statement of its own, and a part of the one that opens a session. Null
 * takes back nothing.
 */
export const takeBackGuess = (t: Tables, id: string): string =>
  `update ${t.signInAttempts} set failures = failures - 1 where id = ${id} and failures > 0`
