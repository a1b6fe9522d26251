const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether a text is a UUID of any version, in lower or upper case. PostgreSQL rejects a statement with anything else. */
export const isUuid = (text: string): boolean => UUID.test(text)
