import type { ControlRouteName } from "@appdb/contract/routes/control-paths";
import { expect, test } from "vitest";
import type { Credential, SendInput, TestServer } from "./open-server.ts";
import type { OrgStage } from "./people.ts";

/** Who asks: a role of the stage's organization, the owner of another one, or nobody. */
export type Asker = "guest" | "member" | "admin" | "owner" | "outsider";

/** One row: who asks what, and what comes back. */
export interface Scenario<S extends OrgStage = OrgStage> {
  readonly as: Asker | ((stage: S) => Credential);
  /** How the row is called when `as` alone does not tell. */
  readonly named?: string;
  readonly route: ControlRouteName;
  /** Values of the path; `org` is the stage's organization unless given. */
  readonly params?: Readonly<Record<string, string>> | ((stage: S) => Readonly<Record<string, string>>);
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown | ((stage: S) => unknown);
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  /** Texts that the answer's body has. */
  readonly includes?: readonly (string | ((stage: S) => string))[];
  /** Texts that neither the body nor the headers have. */
  readonly excludes?: readonly (string | ((stage: S) => string))[];
  /** Looks at what the request did. */
  readonly after?: (server: TestServer, stage: S) => Promise<void>;
}

/**
 * Makes a test of each row. Every row has a stage of its own on the server that `server` gives, so that rows stand alone.
 */
export function testScenarios<S extends OrgStage>(
  server: () => TestServer,
  openStage: (server: TestServer) => Promise<S>,
  rows: readonly Scenario<S>[],
): void {
  const named = rows.map((row) => [titleOf(row), row] as const);
  test.each(named)("%s", async (_title, row) => {
    const stage = await openStage(server());
    const params = { org: stage.org.name, ...(typeof row.params === "function" ? row.params(stage) : row.params) };
    const body = typeof row.body === "function" ? row.body(stage) : row.body;
    const as = credentialOf(row.as, stage);
    const input = { as, body, headers: row.headers, query: row.query, params } as SendInput;
    const answer = await server().ask(row.route, input);
    expect.soft(answer.status, answer.text).toBe(row.status);
    const text = (part: string | ((stage: S) => string)) => (typeof part === "function" ? part(stage) : part);
    for (const part of row.includes ?? []) expect.soft(answer.text).toContain(text(part));
    const everything = `${answer.text}\n${JSON.stringify([...answer.headers])}`;
    for (const part of row.excludes ?? []) expect.soft(everything).not.toContain(text(part));
    await row.after?.(server(), stage);
  });
}

function titleOf<S extends OrgStage>(row: Scenario<S>): string {
  const who = row.named ?? (typeof row.as === "string" ? row.as : "somebody");
  return `${row.route} as ${who}: ${row.status}`;
}

function credentialOf<S extends OrgStage>(as: Scenario<S>["as"], stage: S): Credential | undefined {
  if (typeof as === "function") return as(stage);
  return as === "guest" ? undefined : { token: stage[as].token };
}
