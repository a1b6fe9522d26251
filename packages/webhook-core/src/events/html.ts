/** HTML summaries become Markdown before they are sent; other formats are sent as they are. */
export const isHtml = ({ format }: { format: string }): boolean => format.toLowerCase() === 'html'
