/** Where the MCP server is, below the base URL. */
export const MCP_PATH = '/mcp'
