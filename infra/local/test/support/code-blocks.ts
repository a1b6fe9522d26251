/** The code blocks of a Markdown page in one language. */
export const codeBlocks = (page: string, language: string): string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(([, code = '']) => code)
