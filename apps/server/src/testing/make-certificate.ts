import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Creates a 30-day certificate for hosts below a domain: `<name>.pem` and `<name>.key` in a folder. */
export function makeCertificate(folder: string, name: string, domain: string) {
  const made = { cert_file: join(folder, `${name}.pem`), key_file: join(folder, `${name}.key`) };
  const subject = ["-subj", "/CN=gateway", "-addext", `subjectAltName=DNS:*.${domain}`, "-days", "30"];
  const kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  execFileSync("openssl", [...kind, ...subject, "-keyout", made.key_file, "-out", made.cert_file], { stdio: "ignore" });
  return made;
}
