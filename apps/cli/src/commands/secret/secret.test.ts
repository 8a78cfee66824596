import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type HostedProject, openHostedProject, WHO } from "../../testing/test-project.ts";

const VALUE = "sk-live-0123456789";
const AT = "2026-11-22T10:00:00.000Z";
const secret = (name: string, scope: "organization" | "database") => ({
  name,
  scope,
  overrides_organization: scope === "database" && name === "OPENAI_API_KEY",
  set_by: "ann@example.com",
  updated_at: AT,
});

let project: HostedProject;

beforeEach(async () => {
  const refuse = (name = "") => {
    if (name === "BAD") throw appError("secret_reserved", { detail: `${name} is refused.`, hint: "Rename it." });
  };
  project = await openHostedProject({
    answers: {
      whoami: () => WHO,
      secretList: () => ({ items: [secret("REGION", "organization")], next: null }),
      databaseSecretList: () => ({
        items: [secret("OPENAI_API_KEY", "database"), secret("REGION", "organization")],
        next: null,
      }),
      secretSet: ({ params }) => ({ ...secret(params["name"] ?? "", "organization"), restart: [] }),
      databaseSecretSet: ({ params }) => {
        refuse(params["name"]);
        const restart = params["name"] === "SERVED" ? ["cloud://acme:main/ingest"] : [];
        return { ...secret(params["name"] ?? "", "database"), restart };
      },
      secretDelete: () => undefined,
      databaseSecretDelete: ({ params }) => {
        if (params["name"] === "GONE") throw appError("secret_not_found", { detail: "There is no secret GONE." });
        return undefined;
      },
    },
  });
});
afterEach(() => project[Symbol.asyncDispose]());

const run = (...input: Parameters<HostedProject["run"]>) => project.run(...input);
const values = () => project.server.asked.map(({ body, params }) => [params["name"], body?.value]);

describe("cli secret set", () => {
  test("asks for the value on a terminal and never prints it", async () => {
    const ran = await run("secret set cloud://acme:main OPENAI_API_KEY", { secret: VALUE });
    expect(ran).toMatchObject({ exit: 0, stdout: "OPENAI_API_KEY  database\n" });
    expect(ran.stderr).toBe("next: cli db restart cloud://acme:main\n");
    expect(project.server.asked[0]).toMatchObject({ name: "databaseSecretSet", params: { org: "acme", db: "main" } });
    expect(values()).toEqual([["OPENAI_API_KEY", VALUE]]);
  });

  test("names services that keep the old value and how to restart them", async () => {
    const ran = await run("secret set cloud://acme:main SERVED=new");
    expect(ran.stderr).toBe(
      "next: cli db restart cloud://acme:main\nthen: cli service restart cloud://acme:main/ingest\n",
    );
  });

  test("reads it from a pipe without the final line break", async () => {
    await run("secret set acme TOKEN", { input: `${VALUE}\n` });
    await run("secret set cloud://acme TOKEN", { input: `${VALUE}\r\n` });
    await run("secret set acme PEM", { input: "-----\nline\n-----\n\n" });
    expect(values()).toEqual([
      ["TOKEN", VALUE],
      ["TOKEN", VALUE],
      ["PEM", "-----\nline\n-----\n"],
    ]);
    expect(project.asked()).toEqual(Array(3).fill("secretSet"));
  });

  test("reads it from a file even with piped input", async () => {
    writeFileSync(join(project.folder, "key.pem"), "-----\nline\n");
    const ran = await run("secret set cloud://acme:main PEM --file key.pem --json", { input: "not this" });
    expect(JSON.parse(ran.stdout)).toEqual([{ ...secret("PEM", "database"), restart: [] }]);
    expect(values()).toEqual([["PEM", "-----\nline"]]);
  });

  test("sends several values one by one; a value may contain '='", async () => {
    await run("secret set cloud://acme:main A=1 B=x=y= C=3");
    expect(values()).toEqual([
      ["A", "1"],
      ["B", "x=y="],
      ["C", "3"],
    ]);
  });

  test("lists the secrets that were set when a later one fails", async () => {
    const ran = await run("secret set cloud://acme:main A=1 BAD=2 C=3 --json");
    expect(ran.exit).toBe(1);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      code: "secret_reserved",
      detail: "BAD is refused. Set before: A. Not set: BAD, C.",
      hint: "Rename it.",
      meta: { done: ["A"], not_done: ["BAD", "C"] },
    });
    expect(values().map(([name]) => name)).toEqual(["A", "BAD"]);
  });

  test.each([
    [["acme", "A", "B"], "A and B have no value."],
    [["acme", "A=1", "--file", "key.pem"], "--file key.pem needs a NAME without a value"],
    [["acme", "A="], "The value of A is empty."],
    [["acme", "A"], "No terminal to ask for the value of A."],
    [["acme", "A", "--file", "nothing.pem"], "The file nothing.pem cannot be read"],
    [["acme"], "is missing"],
  ])("refuses %j with exit 2 before any request", async (words, what) => {
    const ran = await run(["secret", "set", ...words]);
    expect(ran.exit).toBe(2);
    expect(ran.stderr).toContain(what);
    expect(project.server.asked).toEqual([]);
  });

  test.each(["SERVICE_X", "service_x", "A".repeat(129)])("refuses the name %s before any request", async (name) => {
    const ran = await run(["secret", "set", "acme", "A=1", `${name}=2`]);
    expect(ran.exit).toBe(1);
    expect(project.server.asked).toEqual([]);
  });

  test("does not print an invalid name, which may be the value", async () => {
    const ran = await run(["secret", "set", "acme", VALUE]);
    expect(ran.exit).toBe(2);
    expect(ran.stdout + ran.stderr).not.toContain(VALUE);
  });

  test("refuses bytes that are not text", async () => {
    const ran = await run("secret set acme A", { input: Uint8Array.of(0xff, 0xfe) });
    expect(ran.exit).toBe(2);
    expect(ran.stderr).toContain("What was piped in is not UTF-8 text.");
  });

  test.each(["cloud://acme:", "cloud://acme:main/docs", "Acme", "cloud://"])(
    "refuses the place %s before any request",
    async (place) => {
      expect((await run(["secret", "set", place, "A=1"])).exit).toBe(1);
      expect(project.server.asked).toEqual([]);
    },
  );
});

describe("cli secret", () => {
  test("list prints name, scope and overridden secrets", async () => {
    expect((await run("secret list cloud://acme:main")).stdout).toBe(
      "OPENAI_API_KEY  database      overrides an organization secret\nREGION          organization\n",
    );
    expect((await run("secret list")).stdout).toBe("REGION  organization\n");
    expect(JSON.parse((await run("secret list acme --json")).stdout)).toEqual([secret("REGION", "organization")]);
  });

  test("delete lists the deleted secrets when a later one fails", async () => {
    expect((await run("secret delete acme A B")).stdout).toBe("deleted  A  organization\ndeleted  B  organization\n");
    const ran = await run("secret delete cloud://acme:main A GONE B");
    expect(ran.exit).toBe(1);
    expect(ran.stderr).toContain("There is no secret GONE. Deleted before: A. Not deleted: GONE, B.");
  });
});
