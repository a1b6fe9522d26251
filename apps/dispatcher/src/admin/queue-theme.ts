const shared = {
  'font-sans': 'system-ui, sans-serif',
  'font-mono': 'ui-monospace, monospace',
  radius: '.6rem',
}

/** The colours of our pages under the names that Bull Board has for them. */
export const queueTheme = {
  light: {
    ...shared,
    background: '#f4f4f7',
    foreground: '#1c1c28',
    card: '#ffffff',
    popover: '#ffffff',
    primary: '#4338ca',
    'primary-foreground': '#ffffff',
    'muted-foreground': '#5a5a6e',
    border: '#dcdce6',
    sidebar: '#ffffff',
    'sidebar-border': '#dcdce6',
    destructive: '#a3122f',
  },
  dark: {
    ...shared,
    background: '#101018',
    foreground: '#ececf4',
    card: '#1a1a25',
    popover: '#1a1a25',
    primary: '#a5a0ff',
    'primary-foreground': '#14142b',
    'muted-foreground': '#a8a8bd',
    border: '#34344a',
    sidebar: '#1a1a25',
    'sidebar-border': '#34344a',
    destructive: '#ff9db0',
  },
} as const
