import type { DefaultTreeAdapterTypes } from 'parse5'

export type Element = DefaultTreeAdapterTypes.Element

/** All elements below a node, in the order of the document. */
export function* elements(node: DefaultTreeAdapterTypes.Node): Generator<Element> {
  if (!('childNodes' in node)) return
  for (const child of node.childNodes) {
    if ('tagName' in child) yield child
    yield* elements(child)
  }
}
