/** Rows of a cursor's first fetch: large rows are found before many of them are in memory. */
export const FIRST_FETCH = 8;
/** About so many bytes are fetched at a time. */
const FETCH_BYTES = 4_000_000;

/** Rows of the next fetch of a cursor, by the size of the rows of the previous one, and at most `most`. */
export function nextFetch(rows: readonly (readonly (string | null)[])[], most: number): number {
  let bytes = 1;
  for (const row of rows) for (const cell of row) bytes += cell?.length ?? 0;
  return Math.max(1, Math.min(most, Math.floor((FETCH_BYTES * rows.length) / bytes)));
}
