import { expect, test } from "vitest";
import { localCode, refuseCallersCode } from "./query-code.ts";

const PROGRAM = { pid: 1, modules: ["YQ=="] };
const RUNTIME = { python: "python", python_source: "test", project_root: "/project", library_paths: [], env: {} };
const NONE = { functions: [], resource_pools: [], runtime: null, program: null };

test("a hosted database refuses functions of a program", () => {
  expect(() => refuseCallersCode({ ...NONE, program: PROGRAM })).toThrow(
    expect.objectContaining({ code: "function_missing", hint: expect.stringContaining("cli db update") }),
  );
});

test("a hosted database refuses a runtime", () => {
  expect(() => refuseCallersCode({ ...NONE, runtime: RUNTIME })).toThrow(
    expect.objectContaining({ code: "invalid_request" }),
  );
  expect(() => refuseCallersCode(NONE)).not.toThrow();
});

test("a local query stores the functions of its program first", async () => {
  const stored: unknown[] = [];
  const findCode = localCode({ save: () => "r1" }, { store: (program) => void stored.push(program) });
  const query = {} as Parameters<typeof findCode>[1];
  expect(await findCode({ ...NONE, runtime: RUNTIME, program: PROGRAM }, query, [])).toMatchObject({
    runtime_id: "r1",
  });
  await findCode({ ...NONE, runtime: RUNTIME }, query, []);
  expect(stored).toEqual([PROGRAM]);
});
