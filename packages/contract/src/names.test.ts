import { describe, expect, test } from "vitest";
import { AppError } from "./errors.ts";
import {
  isPlaceholder,
  parseDatabaseUri,
  parseLocalTarget,
  parseName,
  parseServiceName,
  parseTablePath,
  parseTarget,
  shownTablePath,
} from "./names.ts";

function refusal(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("was accepted");
}

describe("parses a local target", () => {
  test("is a database and its folders", () => {
    expect(parseLocalTarget("main")).toMatchObject({ kind: "local", database: "main", folders: [], text: "main" });
    expect(parseLocalTarget("main/reports/daily")).toMatchObject({
      database: "main",
      folders: ["reports", "daily"],
      text: "main/reports/daily",
    });
  });

  test("folds to lower case", () => {
    expect(parseLocalTarget("Main/Reports").text).toBe("main/reports");
  });

  test.each([
    ["", "empty"],
    ["   ", "empty"],
    ["1main", "letter"],
    ["_main", "letter"],
    ["main/", "empty"],
    ["/main", "empty"],
    ["main//x", "empty"],
    ["my db", "letters, digits"],
    ["mäin", "letters, digits"],
    ["main\u0000", "letters, digits"],
    ["../etc", "'.'"],
    ["main.docs", "'/'"],
    ["postgres", "reserved"],
    ["Template1", "reserved"],
    ["main/public", "reserved"],
    ["main/appdb", "reserved"],
    ["main/pg_temp", "reserved"],
    ["x".repeat(64), "63"],
    [`main/${"x".repeat(40)}/${"y".repeat(40)}`, "63"],
  ])("%j is refused with the reason and an example", (text, reason) => {
    const error = refusal(() => parseLocalTarget(text));
    expect(error.code).toBe("invalid_target");
    expect(error.message).toContain(reason);
    expect(error.hint).toBeTruthy();
    // One line for any input.
    expect(error.message).not.toMatch(/[\n\0]/);
  });

  test("accepts 63 characters", () => {
    expect(parseLocalTarget("x".repeat(63)).database).toHaveLength(63);
  });

  test("suggests a valid name for a wrong letter", () => {
    expect(refusal(() => parseLocalTarget("my db")).hint).toContain("my-db");
    expect(refusal(() => parseLocalTarget("main.docs")).hint).toContain("main/docs");
  });

  test("detects a swapped file and target", () => {
    const error = refusal(() => parseTarget("app.py"));
    expect(error.message).toContain("'app.py' is a file; expected a database.");
    expect(error.hint).toBe("Name the file first, then the database: app.py main");
  });

  test("suggests the whole address when the scheme is missing", () => {
    expect(refusal(() => parseTarget("acme:main")).hint).toBe("Write: cloud://acme:main");
    expect(refusal(() => parseTarget("acme:main/reports")).hint).toBe("Write: cloud://acme:main/reports");
  });

  test("a hosted address is not a local target", () => {
    const error = refusal(() => parseLocalTarget("cloud://acme:main"));
    expect(error.message).toContain("cloud://acme:main is a hosted database");
  });
});

describe("parses a hosted target", () => {
  test("is an organization's database and its folders", () => {
    expect(parseTarget("cloud://acme:main/reports")).toMatchObject({
      kind: "hosted",
      uri: { organization: "acme", database: "main", text: "cloud://acme:main" },
      folders: ["reports"],
      text: "cloud://acme:main/reports",
    });
    expect(parseDatabaseUri("cloud://a-1:db_2").text).toBe("cloud://a-1:db_2");
  });

  test.each([
    "cloud://",
    "cloud://acme",
    "cloud://acme:",
    "cloud://:main",
    "cloud://acme:main:x",
    "cloud://ACME:main",
    "cloud://-acme:main",
    "cloud://acme-:main",
    `cloud://${"a".repeat(30)}:main`,
    "cloud://acme:main/",
    "cloud://<your-org>:main",
  ])("refuses %s", (text) => {
    const error = refusal(() => parseTarget(text));
    expect(error.code).toBe("invalid_target");
    expect(error.message).toContain(text.slice(0, 40));
  });

  test.each(["main:3", "main/reports:12", "cloud://acme:main/reports:3"])(
    "%s is refused because tables have no versions",
    (text) => {
      const error = refusal(() => parseTarget(text));
      expect(error.code).toBe("invalid_target");
      expect(error.message).toContain("tables do not keep versions");
      expect(error.hint).toMatch(/^Omit ':[0-9]+'\. .*point-in-time restore/);
    },
  );

  test("accepts 29 characters for an organization", () => {
    expect(parseDatabaseUri(`cloud://${"a".repeat(29)}:main`).organization).toHaveLength(29);
  });

  test("a database address has no folders and is not local", () => {
    expect(refusal(() => parseDatabaseUri("cloud://acme:main/x")).hint).toContain("cloud://acme:main");
    expect(refusal(() => parseDatabaseUri("main")).code).toBe("invalid_target");
  });

  test("distinguishes a template's placeholder from a typo", () => {
    expect(isPlaceholder("cloud://<your-org>:main")).toBe(true);
    expect(isPlaceholder("cloud://acme:main")).toBe(false);
    expect(isPlaceholder("<your-org>")).toBe(false);
  });
});

describe("parses the address of a table or a service", () => {
  test("a table's parts are separated by dots or slashes", () => {
    expect(parseTablePath("main.docs")).toMatchObject({ table: "docs", text: "main/docs", target: { text: "main" } });
    expect(parseTablePath("main/docs").text).toBe("main/docs");
    expect(parseTablePath("main.reports.docs").text).toBe("main/reports/docs");
    expect(parseTablePath("cloud://acme:main/docs")).toMatchObject({ table: "docs", target: { kind: "hosted" } });
  });

  test("shows a local table path with dots as typed", () => {
    expect(shownTablePath("main.docs", "main/docs")).toBe("main.docs");
    expect(shownTablePath("MAIN/docs", "main/docs")).toBe("main/docs");
    expect(shownTablePath("cloud://acme:main/docs", "cloud://acme:main/docs")).toBe("cloud://acme:main/docs");
  });

  test("refuses a past version of a table", () => {
    for (const text of ["main/docs:3", "main.docs:3", "cloud://acme:main/docs:3"]) {
      expect(refusal(() => parseTablePath(text)).message).toContain(`'${text}' asks for version 3 of a table`);
    }
    expect(refusal(() => parseTablePath("cloud://acme:3")).message).not.toContain("version");
  });

  test("parses a service after its target", () => {
    expect(parseServiceName("main/ingest")).toMatchObject({ service: "ingest", target: { text: "main" } });
    expect(parseServiceName("Main/Reports/In-gest").text).toBe("main/reports/in-gest");
    expect(parseServiceName("cloud://acme:main/ingest").text).toBe("cloud://acme:main/ingest");
  });

  test.each(["ingest", "", "main/", "/ingest", "cloud://acme:main", "main.ingest", "main/in gest"])(
    "refuses the service %j with an example",
    (text) => {
      const error = refusal(() => parseServiceName(text));
      expect(error.code).toBe("invalid_target");
      expect(error.hint).toBeTruthy();
    },
  );

  test("an example for a missing name contains the database", () => {
    expect(refusal(() => parseTablePath("main")).hint).toBe("Write for example: main/docs");
    expect(refusal(() => parseServiceName("main")).hint).toBe("Write for example: main/ingest");
  });

  test("an example for a bare service name contains a target", () => {
    expect(refusal(() => parseServiceName("ingest")).hint).toContain("main/ingest");
  });
});

describe("parses a name", () => {
  test("column names have no hyphens, the others may", () => {
    expect(parseName("column", "Title_Upper")).toBe("title_upper");
    expect(refusal(() => parseName("column", "title-upper")).hint).toContain("title_upper");
    expect(parseName("table", "my-docs")).toBe("my-docs");
  });

  test("refuses a reserved column name", () => {
    expect(refusal(() => parseName("column", "_errors")).message).toContain("reserved");
  });

  test("an organization's name is not folded to lower case", () => {
    const error = refusal(() => parseName("organization", "Acme Inc"));
    expect(error.code).toBe("invalid_name");
    expect(error.hint).toContain("acme-inc");
  });
});

describe("suggests an address that is valid", () => {
  const wrong = [
    "main/",
    "/main",
    "./main",
    "main//x",
    "my db",
    "1main",
    "main docs.x",
    "...",
    "..",
    "*",
    "-",
    "postgres",
    "main/pg_x",
    "main/public",
    "main\\docs",
    "db.sqlite",
    "a.b.1",
    "acme:",
    ":main",
    "été",
    "x".repeat(70),
    "cloud:/acme:main",
    "cloud:acme:main",
    "cloud//acme:main",
    "cloud://acme",
    "cloud://acme/main",
    "cloud://:main",
    "cloud://ACME:main",
    "cloud://acme:Main DB",
    "cloud://acme:main/",
    "cloud://acme:main/public",
    "cloud://<org>:main",
    "acme:main/1x",
    "https://acme:main",
    "postgres://u:p@host/db",
    "http://localhost:8000/docs",
    "",
    " ",
  ];
  test.each([
    ["target", parseTarget],
    ["table", parseTablePath],
    ["service", parseServiceName],
  ] as const)("for a %s", (_kind, parse) => {
    const suggestions = wrong.flatMap((text) => {
      try {
        parse(text);
        return [];
      } catch (error) {
        const [, suggested] = /^Write(?: for example)?: (.*)$/.exec((error as AppError).hint ?? "") ?? [];
        return [{ text, suggested: suggested ?? "no suggestion" }];
      }
    });
    expect(suggestions.length).toBeGreaterThan(20);
    for (const { suggested, text } of suggestions)
      expect(() => parse(suggested), `${text}: ${suggested}`).not.toThrow();
  });

  test.each([
    [parseTarget, "main/", "main"],
    [parseTarget, "./main", "main"],
    [parseTarget, "cloud:/acme:main", "cloud://acme:main"],
    [parseTarget, "cloud://other", "cloud://other:main"],
    [parseTablePath, "my table", "main/my-table"],
    [parseTablePath, "app.py", "main/docs"],
    [parseServiceName, "main2.ingest", "main2/ingest"],
    [parseServiceName, "acme:main/ingest", "cloud://acme:main/ingest"],
    [parseServiceName, "http://localhost:8000", "main/ingest"],
  ])("near the one that was typed", (parse, text, suggested) => {
    expect(refusal(() => parse(text)).hint).toMatch(new RegExp(`: ${suggested}$`));
  });
});
