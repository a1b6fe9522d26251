import { expect, it } from '@jest/globals'
import { readRecordings, type RecordingReader, type RecordingRef } from './index.js'

const refs = Array.from({ length: 6 }, (_, i): RecordingRef => ({ accountId: 'a', audioId: `rec_${i}` }))
const coded = (code: string) => Object.assign(new Error(code), { code })
const SLOW = coded('57014')
const LOST = coded('57P01')
const CORRUPTED = coded('XX001')

/** Reads transcripts with a reader that fails with `errorOf(statement)`, where `statement` lists the numbers of its recordings. */
async function reading(errorOf: (statement: string) => Error | undefined) {
  const statements: string[] = []
  const reader: RecordingReader = {
    recording: (wanted) => Promise.resolve(wanted.map(() => null)),
    summaries: (wanted) => Promise.resolve(wanted.map(() => [])),
    transcript: (wanted) => {
      const statement = wanted.map(({ audioId }) => audioId.slice('rec_'.length)).join('')
      statements.push(statement)
      const error = errorOf(statement)
      return error ? Promise.reject(error) : Promise.resolve(wanted.map(({ audioId }) => ({ text: audioId })))
    },
  }
  const failures: unknown[] = []
  const contents = await readRecordings(refs, {
    reader,
    onFailure: (part, { audioId }, error) => failures.push([part, audioId, error]),
  })
  const read = contents.flatMap(({ transcript }, i) => (transcript?.text === `rec_${i}` ? [i] : []))
  return { statements, failures, read }
}

it('reads the others when one of them is corrupted', async () => {
  const { read, failures } = await reading((statement) => (statement.includes('3') ? CORRUPTED : undefined))
  expect(read).toEqual([0, 1, 2, 4, 5])
  expect(failures).toEqual([['transcript', 'rec_3', CORRUPTED]])
})

it('reads the others when one of them takes too long', async () => {
  const { read, statements } = await reading((statement) => (/[14]/.test(statement) ? SLOW : undefined))
  expect(read).toEqual([0, 2, 3, 5])
  expect(statements).toEqual(['012345', '0', '1', '2', '3', '4', '5'])
})

it('reads no more when all of them take too long, for instance because their table is locked', async () => {
  const { read, statements, failures } = await reading(() => SLOW)
  expect(read).toEqual([])
  expect(statements).toEqual(['012345', '0', '1'])
  expect(failures).toEqual(refs.map(({ audioId }) => ['transcript', audioId, SLOW]))
})

it.each([
  ['with the statement for all', '012345', 0],
  ['with one of those for each', '2', 2],
])('reads no more when the database goes away %s', async (_, last, before) => {
  const { statements, read, failures } = await reading((statement) =>
    statement === last ? LOST : statement.length > 1 ? CORRUPTED : undefined,
  )
  expect(statements.at(-1)).toBe(last)
  expect(read).toHaveLength(before)
  expect(failures).toHaveLength(6 - before)
})
