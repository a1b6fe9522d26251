import type { RecordedAttempt } from '../deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import type { ResultRecorder } from './result-recorder.js'

/**
 * Thrown after an attempt whose result could not be recorded. The next run of the job must report it as lost, or it would not count.
 */
export class UnrecordedAttempt extends Error {
  override name = 'UnrecordedAttempt'
}

export const attemptOf = (snapshot: DeliverySnapshot, number: number) => ({
  deliveryId: snapshot.id,
  endpointId: snapshot.endpoint.id,
  eventId: snapshot.eventId,
  urlVersion: snapshot.endpoint.urlVersion,
  number,
})

export const recordResult = (
  recorder: ResultRecorder,
  ...item: Parameters<ResultRecorder['record']>
): Promise<RecordedAttempt | null> =>
  recorder.record(...item).catch((cause: unknown) => {
    throw new UnrecordedAttempt('the result of an attempt could not be recorded', { cause })
  })
