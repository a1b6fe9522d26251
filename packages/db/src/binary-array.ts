/** Element types, by their ids in pg_type. */
const TEXT = 25
const JSON_TEXT = 114

const HEADER_BYTES = 12
const DIMENSION_BYTES = 8
const LENGTH_BYTES = 4

type Text = string | Uint8Array | null

/**
 * Encodes a parameter of type text[] in PostgreSQL's binary form, which copies a long text only once. The driver would send an array as
 * a literal, for which it escapes each text and the server parses it.
 */
export const textArray = (values: readonly Text[]): Buffer => binaryArray(TEXT, values)

/** The same for json[]. */
export const jsonArray = (values: readonly Text[]): Buffer => binaryArray(JSON_TEXT, values)

/** The format that `array_recv` reads: dimensions, whether there are nulls, element type, then length and content of each element. */
function binaryArray(elementType: number, values: readonly Text[]): Buffer {
  const lengths = values.map((value) =>
    value === null ? -1 : typeof value === 'string' ? Buffer.byteLength(value) : value.byteLength,
  )
  const dimensions = values.length === 0 ? 0 : 1
  const size = lengths.reduce((sum, length) => sum + LENGTH_BYTES + Math.max(0, length), 0)
  const out = Buffer.allocUnsafe(HEADER_BYTES + dimensions * DIMENSION_BYTES + size)
  let at = out.writeInt32BE(dimensions, 0)
  at = out.writeInt32BE(lengths.includes(-1) ? 1 : 0, at)
  at = out.writeInt32BE(elementType, at)
  if (dimensions === 0) return out
  at = out.writeInt32BE(values.length, at)
  at = out.writeInt32BE(1, at) // indexes begin at one
  values.forEach((value, index) => {
    at = out.writeInt32BE(lengths[index] as number, at)
    if (value === null) return
    if (typeof value === 'string') at += out.write(value, at)
    else {
      out.set(value, at)
      at += value.byteLength
    }
  })
  return out
}
