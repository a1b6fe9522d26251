/** Path of the MCP server, below the base URL. */
export const MCP_PATH = '/mcp'
