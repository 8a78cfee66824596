import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { expect, test } from "vitest";
import { checkEnvironment } from "./check-environment.ts";

const GOOD: EnvironmentDocument = {
  source: "requirements.txt",
  files: [
    { path: "requirements.txt", text: "./libs/a\n" },
    { path: "libs/a/", text: "" },
  ],
  python_version: "3.12",
  system_packages: ["ffmpeg", "libpq5=17.2-1+deb13u1"],
  uv_options: "--no-binary x",
};

test("accepts a document that the command collected", () => {
  expect(() => checkEnvironment(GOOD)).not.toThrow();
  const none: EnvironmentDocument = {
    source: null,
    files: [],
    python_version: null,
    system_packages: [],
    uv_options: null,
  };
  expect(() => checkEnvironment(none)).not.toThrow();
});

test("refuses paths outside the project and foreign options in a forged document", () => {
  const file = (path: string): EnvironmentDocument => ({ ...GOOD, files: [...GOOD.files, { path, text: "" }] });
  const refused: [EnvironmentDocument, RegExp][] = [
    [file("../up.txt"), /has a part "\.\."/],
    [file("/etc/passwd"), /is not a path/],
    [file("/"), /is not a path/],
    [file("a//b"), /has a part ""/],
    [file("libs/a/"), /twice/],
    [{ ...GOOD, source: "uv.lock" }, /has no uv\.lock/],
    [{ ...GOOD, source: null }, /no source/],
    [{ ...GOOD, python_version: "3.12 --x" }, /not a version/],
    [{ ...GOOD, system_packages: ["-o=Dir::Etc=/x"] }, /not the name of a Debian package/],
    [{ ...GOOD, system_packages: ["a b"] }, /not the name/],
    [{ ...GOOD, uv_options: "--cache-dir /x" }, /sets --cache-dir itself/],
  ];
  for (const [document, message] of refused) {
    expect(() => checkEnvironment(document)).toThrow(
      expect.objectContaining({ code: "environment_refused", message: expect.stringMatching(message) }),
    );
  }
});
