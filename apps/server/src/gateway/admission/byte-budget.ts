import { Gauge, type Registry } from "prom-client";

/** Owns the bytes of callers that have shown no good key, so that they never use up an organization's share. */
export const STRANGERS = "";
/** One owner holds at most this part of the budget. */
const SHARE = 4;

/** Counts the bytes of bodies and answers that the gateway keeps in memory, by owner: the id of an organization, or `STRANGERS`. */
export interface ByteBudget {
  /** The bytes that are counted now, of all owners. */
  readonly held: number;
  /** The most that one owner may hold. */
  readonly share_bytes: number;
  /** Counts bytes; counts none and returns false when the owner's share or the whole budget has no room for them. */
  take(owner: string, bytes: number): boolean;
  /** Counts bytes that are in memory already and cannot be refused. */
  add(owner: string, bytes: number): void;
  /** Ends the count of bytes that `take` or `add` counted. */
  give(owner: string, bytes: number): void;
}

/** Creates a budget of `most_bytes` over all owners; each owner has a quarter of it. */
export function createByteBudget(mostBytes: number): ByteBudget {
  const owners = new Map<string, number>();
  const shareBytes = Math.floor(mostBytes / SHARE);
  let held = 0;
  const add = (owner: string, bytes: number) => {
    held += bytes;
    owners.set(owner, (owners.get(owner) ?? 0) + bytes);
  };
  return {
    get held() {
      return held;
    },
    share_bytes: shareBytes,
    take(owner, bytes) {
      if (held + bytes > mostBytes || (owners.get(owner) ?? 0) + bytes > shareBytes) return false;
      add(owner, bytes);
      return true;
    },
    add,
    give(owner, bytes) {
      held -= bytes;
      const left = (owners.get(owner) ?? 0) - bytes;
      if (left === 0) owners.delete(owner);
      else owners.set(owner, left);
    },
  };
}

/** Shows the count in the metrics. */
export function addBudgetMetrics(registry: Registry, budget: Pick<ByteBudget, "held">): void {
  new Gauge({
    name: "appdb_gateway_held_bytes",
    help: "Bytes of bodies and answers that the gateway keeps in memory.",
    registers: [registry],
    collect() {
      this.set(budget.held);
    },
  });
}
