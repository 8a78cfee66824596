import { type Manifest, manifestSchema } from "@appdb/contract/manifest";

/** The code that changes of single tables brought, which no application file may have. */
export type ChangeCode = Pick<Manifest, "functions" | "resource_pools">;

export const changeCodeSchema = manifestSchema.pick({ functions: true, resource_pools: true });
export const NO_CODE: ChangeCode = { functions: [], resource_pools: [] };

/** The code of both; that of `later` where both have it. */
export function joined(code: ChangeCode, later: ChangeCode): ChangeCode {
  const rest = without(code, later);
  return {
    functions: [...rest.functions, ...later.functions],
    resource_pools: [...rest.resource_pools, ...later.resource_pools],
  };
}

/** The code without the pools that none of its functions names. */
export function withoutUnused({ functions, resource_pools: pools }: ChangeCode): ChangeCode {
  const named = new Set(functions.map(({ resource_pool: pool }) => pool));
  return { functions, resource_pools: pools.filter(({ name }) => named.has(name)) };
}

/** The code that others do not have. */
export function without({ functions, resource_pools: pools }: ChangeCode, others: ChangeCode): ChangeCode {
  const ids = new Set(others.functions.map(({ id }) => id));
  const names = new Set(others.resource_pools.map(({ name }) => name));
  return {
    functions: functions.filter(({ id }) => !ids.has(id)),
    resource_pools: pools.filter(({ name }) => !names.has(name)),
  };
}
