/** Several native clients as one: what a service of several processes has, each with a connection of its own. */
import { RedisClient } from "dialcache-native";

/** Each request goes to the client that owes the fewest answers. */
export class Pool {
  #members;

  constructor(url, size) {
    this.#members = Array.from({ length: size }, () => ({ client: new RedisClient({ url }), open: 0 }));
  }

  ready(options) {
    return Promise.all(this.#members.map(({ client }) => client.ready(options)));
  }

  read(request, context) {
    return this.#through((client) => client.read(request, context));
  }

  write(request) {
    return this.#through((client) => client.write(request));
  }

  invalidate(request) {
    return this.#through((client) => client.invalidate(request));
  }

  close() {
    for (const { client } of this.#members) client.close();
  }

  async #through(use) {
    const member = this.#members.reduce((best, other) => (other.open < best.open ? other : best));
    member.open++;
    try {
      return await use(member.client);
    } finally {
      member.open--;
    }
  }
}
