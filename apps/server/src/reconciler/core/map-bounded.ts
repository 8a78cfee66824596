/** Runs the work for each item with bounded concurrency. The first error stops it. */
export async function mapBounded<Item>(
  items: Iterable<Item>,
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const remaining = [...items];
  const one = async () => {
    for (let item = remaining.shift(); item !== undefined; item = remaining.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, remaining.length) }, one));
}
