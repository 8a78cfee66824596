import type { ControlRouteName } from "@appdb/contract/routes/control-paths";
import { expect, test } from "vitest";
import type { Credential, SendInput, TestServer } from "./open-server.ts";
import type { OrgStage } from "./people.ts";

/** The caller: a role of the stage's organization, the owner of another one, or a guest. */
export type Asker = "guest" | "member" | "admin" | "owner" | "outsider";

/** One row: caller, request and expected answer. */
export interface Scenario<S extends OrgStage = OrgStage> {
  readonly as: Asker | ((stage: S) => Credential);
  /** Names the row if `as` is not enough. */
  readonly named?: string;
  readonly route: ControlRouteName;
  /** Values of the path. `org` defaults to the stage's organization. */
  readonly params?: Readonly<Record<string, string>> | ((stage: S) => Readonly<Record<string, string>>);
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown | ((stage: S) => unknown);
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  /** Texts that the body must contain. */
  readonly includes?: readonly (string | ((stage: S) => string))[];
  /** Texts that neither body nor headers may contain. */
  readonly excludes?: readonly (string | ((stage: S) => string))[];
  /** Checks the effects of the request. */
  readonly after?: (server: TestServer, stage: S) => Promise<void>;
}

/** Creates a test for each row. Each row has its own stage on the server, so that rows are independent. */
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
