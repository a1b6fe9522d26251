const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** All zeros, which clients send to mean none. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000'

export const isUuid = (text: string): boolean => UUID.test(text)
