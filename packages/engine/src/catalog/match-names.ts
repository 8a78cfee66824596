/** A stored or declared table or column. */
export interface Named {
  readonly name: string;
  /** Declared: its previous name. Stored: the previous name in the last applied file. */
  readonly renamed_from?: string | null;
}

export interface Match<Stored extends Named, Declared extends Named> {
  readonly declared: Declared;
  /** The stored object with its data: of the same name, or of the previous name. */
  readonly stored: Stored | undefined;
  /** The previous name, when an update must rename it. */
  readonly from: string | null;
  /** The reason why a declared rename is impossible. It is then matched by its current name only. */
  readonly refusal: string | null;
}

/**
 * Matches each declared table or column with a stored one. A rename is done once: an object that already has the name
 * stays, unless it is renamed itself. So chains and swaps work. The applied rename is stored next to the name;
 * otherwise a swap would look the same before and after.
 */
export function matchNames<Stored extends Named, Declared extends Named>(
  stored: readonly Stored[],
  declared: readonly Declared[],
): readonly Match<Stored, Declared>[] {
  const storedByName = new Map(stored.map((one) => [one.name, one]));
  const declaredByName = new Map(declared.map((one) => [one.name, one]));
  const moves = new Map<string, string>();
  for (const { name, renamed_from: renamedFrom } of declared) {
    if (renamedFrom == null || renamedFrom === name || !storedByName.has(renamedFrom)) continue;
    if (storedByName.get(name)?.renamed_from !== renamedFrom) moves.set(name, renamedFrom);
  }
  const refusals = new Map<string, string>();
  // A refused move leaves its source in place, which may block another move.
  for (let before = -1; before !== refusals.size; ) {
    before = refusals.size;
    for (const [to, from] of moves) {
      const refusal = refusalOf(to, from, { storedByName, declaredByName, moves });
      if (refusal === null) continue;
      refusals.set(to, refusal);
      moves.delete(to);
    }
  }
  const sources = new Set(moves.values());
  return declared.map((one) => {
    const from = moves.get(one.name) ?? null;
    const name = from ?? one.name;
    // An object that moves to another name cannot also be the match of its previous name.
    const isGone = from === null && sources.has(name);
    return {
      declared: one,
      stored: isGone ? undefined : storedByName.get(name),
      from,
      refusal: refusals.get(one.name) ?? null,
    };
  });
}

interface Known {
  readonly storedByName: ReadonlyMap<string, Named>;
  readonly declaredByName: ReadonlyMap<string, Named>;
  readonly moves: ReadonlyMap<string, string>;
}

function refusalOf(to: string, from: string, { storedByName, declaredByName, moves }: Known): string | null {
  const isVacated = [...moves.values()].includes(to);
  if (storedByName.has(to) && !isVacated) return `'${to}' already exists, next to '${from}'`;
  if (declaredByName.has(from) && !moves.has(from)) return `the file also still declares '${from}'`;
  return null;
}
