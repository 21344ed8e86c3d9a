/** Text for a terminal: what came from elsewhere may hold characters that would steer it; each is shown as U+FFFD. */
export const printable = (text: string): string => text.replace(/\p{C}/gu, '\ufffd')
