// Rules of this repository for oxlint (.oxlintrc.json).
const restrictedSyntax = {
  meta: { schema: false },
  create: (context) =>
    Object.fromEntries(
      context.options.map(({ selector, message }) => [selector, (node) => context.report({ node, message })]),
    ),
}

/** What a function of a store may ask for: rows of an account, or rows of the holder of a secret. */
const OWNED = /\b(accountIds?|\w*[hH]ash)\b(?!:)|\bowner\b(?!\.endpointId)/

/** A function with a connection that is exported from a store, and so reads or changes rows for any caller. */
function storeFunction(context, node) {
  const connection = node?.params?.[0]
  if (connection?.type !== 'Identifier' || !/^(db|tx)$/.test(connection.name)) return
  // What it takes and does not use is found by no-unused-vars.
  if (!OWNED.test(context.sourceCode.getText(node.body)))
    context.report({
      node,
      message:
        'Take the account id, or the hash of a secret that its owner has, and use it in the statement. An exception says why.',
    })
}

const accountInStores = {
  meta: { schema: false },
  create: (context) => ({
    'ExportNamedDeclaration > FunctionDeclaration': (node) => storeFunction(context, node),
    'ExportNamedDeclaration > VariableDeclaration > VariableDeclarator': ({ init }) =>
      storeFunction(context, init),
  }),
}

export default {
  meta: { name: 'signet' },
  rules: {
    // ESLint's rule of that name: what a selector finds is an error, with the words given for it.
    'restricted-syntax': restrictedSyntax,
    // The same rule under two more names, because the options of an override replace those of an earlier one.
    'restricted-in-services': restrictedSyntax,
    'restricted-outside-stores': restrictedSyntax,
    // An id alone must not find another account's rows.
    'account-in-stores': accountInStores,
  },
}
