/** Leaves out the byte order mark with which programs on Windows begin text. */
export const withoutMark = (text: string): string => text.replace(/^\ufeff/, '')
