/** A refused key change; the message tells the operator why, and what to do instead. */
export class KeyRefusal extends Error {
  override readonly name = 'KeyRefusal'
}
