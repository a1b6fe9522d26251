/** Rows that a list of the pages shows. */
export const SHOWN = 50
