/** The part of this package that parser threads need. Loading all of it takes most of a second. */
export { encodeParts, type EncodedParts } from './stores/recording-store.js'
export { storable } from './stores/text.js'
