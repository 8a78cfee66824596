import { expect, test } from "vitest";
import { readAuthRefusal } from "./auth-client.ts";

test("a problem document becomes its error", () => {
  const error = readAuthRefusal(401, {
    code: "sign_in_failed",
    detail: "The address or the password is wrong.",
    hint: "Try again.",
  });
  expect(error).toMatchObject({
    code: "sign_in_failed",
    message: "The address or the password is wrong.",
    hint: "Try again.",
  });
});

test.each([
  ["expired_token", "sign_in_expired"],
  ["access_denied", "forbidden"],
  ["invalid_request", "device_code_not_found"],
])("the device routes' %s becomes %s", (error, code) => {
  expect(readAuthRefusal(400, { error, error_description: "Said so." })).toMatchObject({ code, message: "Said so." });
});

test("any other answer becomes an error with its status", () => {
  expect(readAuthRefusal(502, undefined)).toMatchObject({
    code: "server_failed",
    message: "The server answered with status 502 without a reason.",
  });
});
