import { appError } from "@appdb/contract/errors";
import type { QueryExplainRequest, QueryExplanation } from "@appdb/contract/routes/local";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { explainQuery } from "@appdb/engine/endpoints/explain-query";
import { SqlError } from "@appdb/engine/ports";
import type { OpenDatabases } from "./open-databases.ts";
import type { TargetFolder } from "./schema.ts";

/**
 * Explains a query of an application against a target's tables.
 * @throws schema_mismatch when the tables are missing; query_not_found, app_invalid, invalid_request
 */
export async function explainTarget(
  deps: { readonly databases: OpenDatabases },
  input: Omit<QueryExplainRequest, "target"> & { readonly target: TargetFolder },
): Promise<QueryExplanation> {
  const { target } = input;
  const database = await deps.databases.find(target.database);
  if (database === undefined) {
    throw appError("schema_mismatch", {
      detail: `The database ${target.database} does not exist, so no table of ${input.manifest.app_file} does.`,
      hint: `Make them: cli schema update ${input.manifest.app_file} ${target.text}`,
      meta: { target: target.text },
    });
  }
  try {
    return await database.sql.withConnection((connection) =>
      explainQuery(connection, { ...input, target: target.text, limits: DEFAULT_LIMITS }),
    );
  } catch (error) {
    if (!(error instanceof SqlError) || !error.sqlstate.startsWith("22")) throw error;
    throw appError("function_failed", {
      detail: `PostgreSQL refused a value while it ran the statement (SQLSTATE ${error.sqlstate}).`,
      hint: "A service answers such a request in Python. Remove --analyze, or use other values.",
      cause: error,
    });
  }
}
