import { describe, expect, it } from '@jest/globals'
import { newEventId } from '../ids.js'
import { catalogue, dataSchema, definitionOf, eventTypes, isEventType, sampleEvent } from './catalogue.js'
import { envelopeOf, type EventDefinition } from './event-definition.js'

/** All that a new event type takes: one definition, and one line in the list. */
const recordingDeleted: EventDefinition = {
  description: 'a recording is deleted',
  properties: { audio_id: { type: 'string' } },
  sample: { audio_id: 'rec_sample' },
  subject: 'recording',
  build: (header, { audioId }) =>
    JSON.stringify(envelopeOf('recording.deleted', header, { audio_id: audioId })),
}
const extended = { ...catalogue, 'recording.deleted': recordingDeleted }

describe('the event catalogue', () => {
  it('knows its types, and nothing that an object has by itself', () => {
    expect(eventTypes).toEqual(expect.arrayContaining(['summary.completed', 'webhook.ping']))
    expect(['webhook.ping', 'toString', 'recording.deleted', 7].map(isEventType)).toEqual([
      true,
      false,
      false,
      false,
    ])
  })

  it('rejects a type without a definition instead of building another event', () => {
    expect(() => definitionOf('recording.deleted')).toThrow('recording.deleted')
    expect(() => definitionOf('constructor')).toThrow('constructor')
  })

  it.each(eventTypes)('documents every member of the sample of %s', (type) => {
    const { properties, sample } = catalogue[type]
    expect(Object.keys(sample)).toEqual(Object.keys(properties))
  })

  it('takes everything about an added type from its definition: body, sample and documentation', () => {
    const definition = definitionOf('recording.deleted', extended)
    if (definition.subject !== 'recording') throw new Error('it is about a recording')
    const id = newEventId(new Date(0))
    const content = { recording: null, transcript: null, summaries: [] }
    expect(
      JSON.parse(definition.build({ id, createdAt: new Date(0) }, { audioId: 'rec_1', ...content })),
    ).toEqual({
      id,
      type: 'recording.deleted',
      created_at: '1970-01-01T00:00:00.000Z',
      data: { audio_id: 'rec_1' },
    })
    expect(JSON.parse(sampleEvent('recording.deleted', extended))).toMatchObject({
      id: 'evt_sample_recording_deleted',
      type: 'recording.deleted',
      data: { audio_id: 'rec_sample' },
    })
    expect(dataSchema(extended)).toMatchObject({
      description: expect.stringContaining(
        '`recording.deleted`, sent when a recording is deleted: `audio_id`.',
      ),
    })
  })
})
