/** What a service's own `loadUser` looks like: one HTTP request to the source. Both variants load through it. */
import { Agent, get } from "node:http";

/**
 * A loader of users from the source at `url`. Each user carries `load`, the number of loads that had ended in this process when this one did,
 * so that a caller can tell an answer out of a cache (loaded before it asked) from one it waited for.
 */
export function sourceClient(url) {
  const agent = new Agent({ keepAlive: true, maxSockets: 512 });
  const state = { ended: 0 };

  async function loadUser(id) {
    const user = await getJson(`${url}/users/${encodeURIComponent(id)}`, agent);
    user.load = ++state.ended;
    return user;
  }

  return { loadUser, loadsEnded: () => state.ended, close: () => agent.destroy() };
}

function getJson(url, agent) {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.once("error", reject);
      response.once("end", () => {
        if (response.statusCode !== 200) return reject(new Error(`the source answered ${response.statusCode}`));
        try {
          resolve(JSON.parse(Buffer.concat(chunks).toString()));
        } catch (error) {
          reject(error);
        }
      });
    });
    request.once("error", reject);
  });
}
