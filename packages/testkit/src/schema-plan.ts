import type { SchemaPlan } from "@appdb/contract/plan";

/** A schema plan in which `changes` differs from "nothing to do". */
export function schemaPlan(
  changes: Partial<Omit<SchemaPlan, "summary">> & { summary?: Partial<SchemaPlan["summary"]> } = {},
): SchemaPlan {
  const { summary, ...rest } = changes;
  return {
    app_file: "app.py",
    target: "main",
    catalog_version: 7,
    tables: [],
    extras: [],
    ops: [],
    stale: [],
    jobs: [],
    status: null,
    in_agreement: true,
    ...rest,
    summary: {
      up_to_date: 0,
      create: 0,
      update_additive: 0,
      update_destructive: 0,
      unsupported: 0,
      extras: 0,
      destructive: 0,
      ...summary,
    },
  };
}
