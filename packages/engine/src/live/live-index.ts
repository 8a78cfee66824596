import type { LiveChange } from "./change-message.ts";
import type { LiveQuery } from "./live-query.ts";
import type { WatchPoint } from "./watch-points.ts";

interface TableEntry {
  /** Queries that any row of the table may change. */
  readonly any: Set<LiveQuery>;
  /** Other queries by the column and value of their condition. */
  readonly byColumn: Map<string, Map<string, Set<LiveQuery>>>;
}

/** Finds the live queries that a commit may have changed, quickly and for any number of queries. */
export class LiveIndex {
  readonly #tables = new Map<number, TableEntry>();

  add(live: LiveQuery, points: readonly WatchPoint[]): void {
    for (const { table, only } of points) {
      const entry = this.#tables.get(table.id) ?? { any: new Set(), byColumn: new Map() };
      this.#tables.set(table.id, entry);
      if (only === null) {
        entry.any.add(live);
        continue;
      }
      const values = entry.byColumn.get(only.column) ?? new Map<string, Set<LiveQuery>>();
      entry.byColumn.set(only.column, values);
      const found = values.get(only.value) ?? new Set();
      values.set(only.value, found.add(live));
    }
  }

  remove(live: LiveQuery, points: readonly WatchPoint[]): void {
    for (const { table, only } of points) {
      const entry = this.#tables.get(table.id);
      if (only === null) {
        entry?.any.delete(live);
        continue;
      }
      const values = entry?.byColumn.get(only.column);
      const found = values?.get(only.value);
      found?.delete(live);
      if (found?.size === 0) values?.delete(only.value);
      if (values?.size === 0) entry?.byColumn.delete(only.column);
    }
  }

  /** Skips a query only if the change has values of its column and none of them is its own. */
  affected(change: LiveChange): ReadonlySet<LiveQuery> {
    const entry = this.#tables.get(change.table_id);
    const found = new Set<LiveQuery>(entry?.any);
    for (const [column, values] of entry?.byColumn ?? []) {
      const at = change.columns.indexOf(column);
      if (at < 0) {
        for (const lives of values.values()) for (const live of lives) found.add(live);
        continue;
      }
      for (const row of change.rows) for (const live of values.get(row[at] ?? "") ?? []) found.add(live);
    }
    return found;
  }

  all(): ReadonlySet<LiveQuery> {
    const found = new Set<LiveQuery>();
    for (const { any, byColumn } of this.#tables.values()) {
      for (const live of any) found.add(live);
      for (const values of byColumn.values())
        for (const lives of values.values()) for (const live of lives) found.add(live);
    }
    return found;
  }
}
