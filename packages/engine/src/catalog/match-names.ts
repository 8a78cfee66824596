/** A table or a column, as it is stored or as it is declared. */
export interface Named {
  readonly name: string;
  /** Declared: the name that it had. Stored: what the file said of that when it was last applied. */
  readonly renamed_from?: string | null;
}

export interface Match<Stored extends Named, Declared extends Named> {
  readonly declared: Declared;
  /** What holds its data: of the same name, or of the name that it had. */
  readonly stored: Stored | undefined;
  /** The former name, when an update has to rename it. */
  readonly from: string | null;
  /** Why a declared rename cannot be made; it is then matched by its name alone. */
  readonly refusal: string | null;
}

/**
 * Finds out which stored table or column each declared one is. A rename is made once: what is called so already stays,
 * unless that one moves on itself, so that chains and swaps work. What was applied is remembered beside the name; without
 * that a swap could not be told from its own result.
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
  // A move that is refused leaves its source where it is, which may be in another one's way.
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
    // What moves to another name is not there any more for a new one of its former name.
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
  if (storedByName.has(to) && !isVacated) return `'${to}' exists already, next to '${from}'`;
  if (declaredByName.has(from) && !moves.has(from)) return `the file still declares '${from}' too`;
  return null;
}
