/**
 * Finds the known name that the user most likely meant, for "did you mean". Case is ignored. Up to a third of the
 * letters may differ, at least one, and never all. A swap of two neighbours counts once. On a tie the first name wins.
 * Undefined when nothing is near.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const lowerName = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.min(lowerName.length, Math.max(1, Math.floor(lowerName.length / 3)) + 1);
  for (const candidate of known) {
    // The length difference is a lower bound of the distance, so most candidates cost nothing.
    if (Math.abs(candidate.length - lowerName.length) >= bestDistance) continue;
    const distance = editDistance(lowerName, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Optimal string alignment: insertions, deletions, replacements and swaps of neighbours, row by row of the usual
 *  table. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        cell(last, column) + 1,
        cell(current, column - 1) + 1,
        cell(last, column - 1) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, cell(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return cell(last, b.length);
}

function cell(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
