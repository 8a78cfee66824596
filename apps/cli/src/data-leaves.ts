import type { Leaf } from "./command-entry.ts";

/** The commands that read tables and rows, and the shell for them. */
export const DATA_LEAVES: Readonly<Record<string, Leaf>> = {
  ls: { brief: "List tables, views and folders", load: async () => (await import("./commands/data/ls.ts")).ls },
  describe: {
    brief: "Show the columns and indexes of a table",
    load: async () => (await import("./commands/data/describe.ts")).describe,
  },
  columns: {
    brief: "List the columns of a table, or of all tables",
    load: async () => (await import("./commands/data/columns.ts")).columns,
  },
  indexes: {
    brief: "List the indexes of a table, or of all tables",
    load: async () => (await import("./commands/data/indexes.ts")).indexes,
  },
  rows: {
    brief: "Show rows of a table, the newest first",
    load: async () => (await import("./commands/data/rows.ts")).rows,
  },
  get: { brief: "Show a row by its key", load: async () => (await import("./commands/data/get.ts")).get },
  count: { brief: "Count the rows of a table", load: async () => (await import("./commands/data/count.ts")).count },
  shell: {
    brief: "Type commands and SQL at a prompt",
    load: async () => (await import("./commands/root/shell.ts")).shell,
  },
};
