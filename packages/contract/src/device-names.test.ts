import { expect, test } from "vitest";
import { refuseDeviceName } from "./device-names.ts";
import { parseName, parseTarget } from "./names.ts";

test.each(["con", "PRN", "aux", "Nul", "com1", "COM9", "lpt1", "lpt9", "con.txt"])(
  "refuses %s for what is new",
  (name) => {
    for (const kind of ["database", "folder", "organization"] as const) {
      expect(() => refuseDeviceName(kind, name)).toThrow(
        `'${name}' cannot be the name of a new ${kind}: Windows keeps this name for a device.`,
      );
    }
  },
);

test("takes other names, and reads addresses of what exists", () => {
  for (const name of ["main", "console", "com", "com0", "com10", "my-con", "nul-1"]) refuseDeviceName("database", name);
  expect(parseTarget("con/aux").text).toBe("con/aux");
  expect(parseTarget("cloud://nul:prn").text).toBe("cloud://nul:prn");
  expect(parseName("database", "con")).toBe("con");
});
