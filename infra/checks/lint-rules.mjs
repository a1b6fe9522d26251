// Rules of this repository for oxlint (.oxlintrc.json).
const restrictedSyntax = {
  meta: { schema: false },
  create: (context) =>
    Object.fromEntries(
      context.options.map(({ selector, message }) => [selector, (node) => context.report({ node, message })]),
    ),
}

export default {
  meta: { name: 'signet' },
  rules: {
    // ESLint's rule of that name: what a selector finds is an error, with the words given for it.
    'restricted-syntax': restrictedSyntax,
    // The same once more, because the options of one rule replace those of an override before.
    'restricted-in-services': restrictedSyntax,
  },
}
