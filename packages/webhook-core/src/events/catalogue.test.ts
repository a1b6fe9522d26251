import { describe, expect, it } from '@jest/globals'
import { newEventId } from '../ids.js'
import {
  catalogue,
  definitionOf,
  eventSchema,
  eventTypes,
  isEventType,
  sampleEvent,
  typesOutlivingRecordings,
} from './catalogue.js'
import { envelopeOf, type OutlivingEvent } from './event-definition.js'

/** All that a new event type needs: one definition, and one line in the list. */
const exampleHappened: OutlivingEvent = {
  sentWhen: { en: 'an example happens', de: 'ein Beispiel geschieht' },
  properties: { audio_id: { type: 'string' } },
  required: ['audio_id'],
  sample: { audio_id: 'rec_sample' },
  subject: 'recording',
  endsWithRecording: false,
  build: (header, { audioId }) =>
    JSON.stringify(envelopeOf('example.happened', header, { audio_id: audioId })),
}
const extended = { ...catalogue, 'example.happened': exampleHappened }

describe('the event catalogue', () => {
  it('knows its types, and nothing that an object has by itself', () => {
    expect(eventTypes).toEqual(expect.arrayContaining(['summary.completed', 'webhook.ping']))
    expect(['webhook.ping', 'toString', 'example.happened', 7].map(isEventType)).toEqual([
      true,
      false,
      false,
      false,
    ])
  })

  it('rejects a type without a definition instead of building another event', () => {
    expect(() => definitionOf('example.happened')).toThrow('example.happened')
    expect(() => definitionOf('constructor')).toThrow('constructor')
  })

  it.each(eventTypes)('documents every member of the sample of %s', (type) => {
    const { properties, required, sample } = catalogue[type]
    expect(Object.keys(sample)).toEqual(Object.keys(properties))
    expect(Object.keys(properties)).toEqual(expect.arrayContaining([...required]))
  })

  it('lists the types whose events outlive their recording', () => {
    expect(typesOutlivingRecordings({ 'webhook.ping': catalogue['webhook.ping'] })).toEqual([])
    expect(typesOutlivingRecordings({ 'summary.completed': catalogue['summary.completed'] })).toEqual([])
    expect(typesOutlivingRecordings({ 'example.happened': exampleHappened })).toEqual(['example.happened'])
  })

  it('takes everything about an added type from its definition: body, sample and documentation', () => {
    const definition = definitionOf('example.happened', extended)
    if (definition.subject !== 'recording') throw new Error('it is about a recording')
    const id = newEventId(new Date(0))
    const content = { recording: null, transcript: null, summaries: [] }
    expect(
      JSON.parse(definition.build({ id, createdAt: new Date(0) }, { audioId: 'rec_1', ...content })),
    ).toEqual({
      id,
      type: 'example.happened',
      created_at: '1970-01-01T00:00:00.000Z',
      data: { audio_id: 'rec_1' },
    })
    expect(JSON.parse(sampleEvent('example.happened', extended))).toMatchObject({
      id: 'evt_sample_example_happened',
      type: 'example.happened',
      data: { audio_id: 'rec_sample' },
    })
    expect(eventSchema('example.happened', extended)).toMatchObject({
      description: 'Sent when an example happens.',
      properties: {
        type: { const: 'example.happened' },
        data: { required: ['audio_id'], properties: { audio_id: { type: 'string' } } },
      },
    })
  })
})
