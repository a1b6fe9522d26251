import { defaultTreeAdapter, Parser, type DefaultTreeAdapterMap, type TreeAdapter } from 'parse5'
import { LimitExceededError } from './conversion-limit.js'

export type HtmlElement = DefaultTreeAdapterMap['element']
export type HtmlParent = DefaultTreeAdapterMap['parentNode']
export type HtmlNode = DefaultTreeAdapterMap['childNode']

/** Pages are less than a hundred elements deep. The standard's algorithm looks through the open elements at every tag. */
export const MAX_DEPTH = 256
/** Four times what an ordinary page of 1 MB has. Unclosed formatting can turn a few bytes into hundreds of nodes. */
export const MAX_NODES = 400_000
const CHUNK = 16 * 1024

/**
 * Parses HTML as browsers do. Throws a `LimitExceededError` as soon as a limit is exceeded, so that the limits bound the cost
 * of a hostile document. `check` is called periodically.
 */
export function parseHtml(html: string, check: () => void): HtmlParent {
  const parser = Parser.getFragmentParser<DefaultTreeAdapterMap>(null, {
    treeAdapter: limitedAdapter(),
    scriptingEnabled: false,
  })
  for (let at = 0; at < html.length; at += CHUNK) {
    parser.tokenizer.write(html.slice(at, at + CHUNK), at + CHUNK >= html.length)
    check()
  }
  return parser.getFragment()
}

function limitedAdapter(): TreeAdapter<DefaultTreeAdapterMap> {
  let depth = 0
  let nodes = 0
  const counted = <Node>(node: Node): Node => {
    nodes += 1
    if (nodes > MAX_NODES) throw new LimitExceededError('too_many_nodes')
    return node
  }
  return {
    ...defaultTreeAdapter,
    ...constantTimePositions,
    createElement: (...given) => counted(defaultTreeAdapter.createElement(...given)),
    createTextNode: (text) => counted(defaultTreeAdapter.createTextNode(text)),
    createCommentNode: () => counted(defaultTreeAdapter.createCommentNode('')),
    onItemPush() {
      depth += 1
      if (depth > MAX_DEPTH) throw new LimitExceededError('too_deep')
    },
    onItemPop() {
      depth -= 1
    },
  }
}

/**
 * The default adapter searches for a child from the front. Content that belongs before an open table is inserted near the end,
 * and children that move to another parent are taken from the front, so here both are found at once.
 */
const constantTimePositions = {
  detachNode(node: HtmlNode): void {
    const siblings = node.parentNode?.childNodes
    if (!siblings) return
    if (siblings[0] === node) siblings.shift()
    else siblings.splice(siblings.lastIndexOf(node), 1)
    node.parentNode = null
  },
  insertBefore(parent: HtmlParent, node: HtmlNode, reference: HtmlNode): void {
    parent.childNodes.splice(parent.childNodes.lastIndexOf(reference), 0, node)
    node.parentNode = parent
  },
  insertTextBefore(parent: HtmlParent, text: string, reference: HtmlNode): void {
    const before = parent.childNodes[parent.childNodes.lastIndexOf(reference) - 1]
    if (before && defaultTreeAdapter.isTextNode(before)) before.value += text
    else constantTimePositions.insertBefore(parent, defaultTreeAdapter.createTextNode(text), reference)
  },
}
