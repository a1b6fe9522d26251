import { describe, expect, it } from '@jest/globals'
import { subjectAt } from './foreign-json.js'

describe('the subject of a profile', () => {
  it.each([
    ['{"id": "9007199254740993"}', '9007199254740993'],
    ['{"id": 9007199254740991}', '9007199254740991'],
    ['{"id": 7}', '7'],
  ])('is text or a whole number: %s', (profile, subject) => {
    expect(subjectAt(JSON.parse(profile), 'id')).toBe(subject)
  })

  // If JavaScript rounded a number, several people would share one subject.
  it.each([
    '{"id": 9007199254740993}',
    '{"id": -9007199254740993}',
    '{"id": 1e21}',
    '{"id": 1.5}',
    '{"id": 1e400}',
    '{"id": ""}',
    '{"id": null}',
    '{"id": ["a"]}',
    '{}',
  ])('is missing in %s', (profile) => {
    expect(() => subjectAt(JSON.parse(profile), 'id')).toThrow('the profile has no subject')
  })

  it('has at most 255 characters', () => {
    expect(subjectAt({ id: 'x'.repeat(255) }, 'id')).toHaveLength(255)
    expect(() => subjectAt({ id: 'x'.repeat(256) }, 'id')).toThrow('no subject')
  })
})
