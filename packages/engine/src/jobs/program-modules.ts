import type { SqlConnection } from "../ports.ts";

/** The modules of programs whose functions columns of unfinished jobs call. Such a job outlives its program. */
export async function listProgramModules(sql: SqlConnection): Promise<string[]> {
  const { rows } = await sql.query({
    text: `select distinct found[1] from appdb.jobs j join appdb.columns c on c.id = any(j.column_ids),
        regexp_matches(c.computed::text, 'appdb_program_[0-9a-f]{32}', 'g') as found
      where j.state in ('queued', 'running')`,
  });
  return rows.map(([module]) => module ?? "");
}
