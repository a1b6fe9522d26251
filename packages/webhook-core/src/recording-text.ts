/** The little of this package that threads need which only read bodies: the whole takes most of a second to load. */
export { encodeParts, type EncodedParts } from './stores/recording-store.js'
export { storable } from './stores/text.js'
