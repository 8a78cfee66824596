import type { Outcome } from "../rows/coalescer.ts";
import { isRowRefusal } from "./sql-refusals.ts";

/**
 * Runs a batch; when PostgreSQL refuses it for one of its rows, the halves run by themselves until the bad row stands
 * alone. Never throws: a half may be committed already when the other one meets a broken connection, so each row gets
 * what became of its own half.
 */
export async function isolate<Item, Answer>(
  items: readonly Item[],
  run: (items: readonly Item[]) => Promise<readonly Outcome<Answer>[]>,
  alone: (item: Item, error: unknown) => Outcome<Answer>,
): Promise<readonly Outcome<Answer>[]> {
  try {
    return await run(items);
  } catch (error) {
    if (!isRowRefusal(error)) return items.map((item) => alone(item, error));
    const [first] = items;
    if (items.length === 1 && first !== undefined) return [alone(first, error)];
  }
  const middle = items.length >> 1;
  const left = await isolate(items.slice(0, middle), run, alone);
  const right = await isolate(items.slice(middle), run, alone);
  return [...left, ...right];
}
