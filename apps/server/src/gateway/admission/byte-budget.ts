import { Gauge, type Registry } from "prom-client";

/** Owner of bytes from callers without a valid key, so that they never use an organization's share. */
export const STRANGERS = "";
/** One owner may hold one part in this many. */
const SHARE = 4;

/** Counts bytes of bodies and answers in the gateway's memory, by owner: the id of an organization, or `STRANGERS`. */
export interface ByteBudget {
  /** Counted bytes of all owners. */
  readonly held: number;
  /** Maximum bytes of one owner. */
  readonly share_bytes: number;
  /** Reserves bytes. Returns false, reserving none, if the owner's share or the whole budget is too small. */
  take(owner: string, bytes: number): boolean;
  /** Counts bytes that are already in memory and cannot be refused. */
  add(owner: string, bytes: number): void;
  /** Releases bytes that `take` or `add` counted. */
  give(owner: string, bytes: number): void;
}

/** Creates a budget of `mostBytes` for all owners. Each owner may use a quarter. */
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

/** Adds the counted bytes to the metrics. */
export function addBudgetMetrics(registry: Registry, budget: Pick<ByteBudget, "held">): void {
  new Gauge({
    name: "appdb_gateway_held_bytes",
    help: "Bytes of bodies and answers in the gateway's memory.",
    registers: [registry],
    collect() {
      this.set(budget.held);
    },
  });
}
