import type { Leaf, Noun } from "./command-entry.ts";

/** The commands that read and write tables and rows, that change single tables, and the shell for them. */
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
  export: {
    brief: "Write the rows of a table as CSV or JSON lines",
    load: async () => (await import("./commands/data/export.ts")).exportRows,
  },
  drop: {
    brief: "Drop a table or view",
    has_plan: true,
    load: async () => (await import("./commands/data/drop.ts")).drop,
  },
  "drop-dir": {
    brief: "Drop a folder",
    has_plan: true,
    load: async () => (await import("./commands/data/drop.ts")).dropFolder,
  },
  rename: {
    brief: "Rename a table, view or folder",
    has_plan: true,
    load: async () => (await import("./commands/data/move.ts")).rename,
  },
  mv: {
    brief: "Move a table or folder to another folder",
    has_plan: true,
    load: async () => (await import("./commands/data/move.ts")).move,
  },
  history: {
    brief: "List the changes of a table, or of all tables",
    load: async () => (await import("./commands/data/history.ts")).history,
  },
  count: { brief: "Count the rows of a table", load: async () => (await import("./commands/data/count.ts")).count },
  insert: {
    brief: "Insert the rows of a file into a table",
    load: async () => (await import("./commands/data/insert.ts")).insert,
  },
  update: { brief: "Change rows of a table", load: async () => (await import("./commands/data/update.ts")).update },
  delete: { brief: "Delete rows of a table", load: async () => (await import("./commands/data/delete.ts")).deleteRows },
  psql: {
    brief: "Open psql, or a connection for other tools",
    load: async () => (await import("./commands/root/psql.ts")).psql,
  },
  shell: {
    brief: "Type commands and SQL at a prompt",
    load: async () => (await import("./commands/root/shell.ts")).shell,
  },
};

export const QUERY_NOUN: Noun = {
  brief: "Run SQL that reads, and explain queries of an application",
  has_plan: false,
  default_verb: "run",
  verbs: {
    run: {
      brief: "Run SQL that reads, and show its rows",
      load: async () => (await import("./commands/query/run.ts")).run,
    },
    explain: {
      brief: "Show a query's statement, what runs where, and PostgreSQL's plan",
      load: async () => (await import("./commands/query/explain.ts")).explain,
    },
  },
};
