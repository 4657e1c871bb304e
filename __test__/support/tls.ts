import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Files of a throw-away certificate authority, a server and a client it signed. */
export interface TestCertificates {
  readonly caFile: string;
  readonly serverCertFile: string;
  readonly serverKeyFile: string;
  readonly clientCertFile: string;
  readonly clientKeyFile: string;
  /** PEM texts, as a client's options take them. */
  readonly ca: string;
  readonly clientCert: string;
  readonly clientKey: string;
}

/** Makes certificates for `localhost` and 127.0.0.1 in `dir`, valid for one day. */
export function makeCertificates(dir: string): TestCertificates {
  const at = (name: string) => join(dir, name);
  const openssl = (command: string) =>
    execFileSync("openssl", command.split(" "), { cwd: dir, stdio: ["ignore", "ignore", "pipe"] });
  const newKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
  const authority = "-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign";

  openssl(`req -x509 ${newKey} -days 1 -subj /CN=test-authority -keyout ca.key -out ca.crt ${authority}`);
  for (const name of ["server", "client"]) {
    writeFileSync(at(`${name}.ext`), "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n");
    openssl(`req ${newKey} -subj /CN=${name} -keyout ${name}.key -out ${name}.csr`);
    const issued = `-days 1 -extfile ${name}.ext -out ${name}.crt`;
    openssl(`x509 -req -in ${name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial ${issued}`);
  }
  return {
    caFile: at("ca.crt"),
    serverCertFile: at("server.crt"),
    serverKeyFile: at("server.key"),
    clientCertFile: at("client.crt"),
    clientKeyFile: at("client.key"),
    ca: readFileSync(at("ca.crt"), "utf8"),
    clientCert: readFileSync(at("client.crt"), "utf8"),
    clientKey: readFileSync(at("client.key"), "utf8"),
  };
}
