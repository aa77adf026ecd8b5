// Speaks the wire format of both listeners, as documented: the built pages with their policy,
// /v1/models, /v1/completions as a stream, /ledger and /ledger/verify. Loopback, any free port.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { join, normalize } from "node:path";

export const API_KEY = "sk-submix-test";
export const OPERATOR_KEY = "operator-key-of-the-test";
export const ANSWER =
  "ROMEO:\nBut soft, what day is this that breaks so late?\nThe gates are shut, and yet I hear them sing:\n" +
  "No man may say whose voice it is, nor whence,\nFor many spoke, and none was heard alone.";

const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };

function sendJson(response, status, body) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
}

function sendError(response, status, message, param = null, code = null) {
  sendJson(response, status, { error: { message, type: "invalid_request_error", param, code } });
}

async function bodyOf(request) {
  let text = "";
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

// A ledger of k parts whose spending grows with every reading; one has nothing left.
export function ledgerOf(k, reading, spentPart = 3) {
  const parts = Array.from({ length: k }, (_, i) => {
    const budget = 2;
    const wave = 0.55 + 0.3 * Math.sin(i * 0.7) * Math.cos(i * 0.21) + ((i * 37) % 11) / 90;
    const spent = i === spentPart ? budget : Math.min(budget, budget * wave * 0.86 + 0.0004 * reading);
    return { name: `part ${i}`, budget, spent, sure_answers: Math.floor((budget - spent) / 0.0005) };
  });
  return {
    mechanism: "filtered-submix",
    order: "8",
    unit: "part",
    epsilon: 2,
    parts,
    records: 41_209 + 6 * reading,
    head: "9f2c41d07be3a85510cc6e0f9b7d2a4438f1e6d5a09b3c7e12f4085d6ab1c93e",
    lineage: "5ac01d77e2",
    promise: {
      sentence: "Whatever anybody asks, all answers together are (7.138, 1e-05)-differentially private for one user's text.",
      table: [
        { label: "(epsilon, delta)", user: "(7.138, 1e-05), from order 4.266", part: "(3.216, 1e-05), from order 8" },
        { label: "unit", user: "all text of one user key", part: "all text of the users in one part" },
        { label: "proof", user: "proven: Theorem 1; from part to user key: Theorem 5", part: "proven: Theorem 1" },
      ],
    },
  };
}

export class FakeServer {
  requests = []; // bodies of completions
  hungUp = 0; // streams whose client went away
  tokenDelay = 4; // ms
  holdAt = -1; // a stream waits before this token until release()
  held = new Promise((done) => (this.release = done));
  parts = 8;
  spentPart = 3; // -1: none
  chain = "whole";
  readings = 0;

  // page: "playground" or "operator".
  static async start(built, policyFile, page) {
    const server = new FakeServer();
    server.root = join(built, page);
    server.policy = (await readFile(policyFile, "utf8")).trim();
    server.http = createServer((request, response) => {
      const answers = page === "operator" ? server.operator : server.client;
      answers.call(server, request, response).catch((error) => response.destroy(error));
    });
    await new Promise((done) => server.http.listen(0, "127.0.0.1", done));
    server.url = `http://127.0.0.1:${server.http.address().port}/`;
    return server;
  }

  async stop() {
    this.http.closeAllConnections();
    await new Promise((done) => this.http.close(done));
  }

  async client(request, response) {
    if (!request.url.startsWith("/v1/")) return this.file(request, response);
    if (request.headers.authorization !== `Bearer ${API_KEY}`) {
      return sendError(response, 401, "Incorrect API key provided.", null, "invalid_api_key");
    }
    if (request.url === "/v1/models") {
      const model = { id: "shakespeare", object: "model", created: 1, owned_by: "submix" };
      return sendJson(response, 200, { object: "list", data: [model] });
    }
    const body = await bodyOf(request);
    this.requests.push(body);
    if (body.max_tokens > 1000) {
      return sendError(response, 400, "This model's maximum context length is 1000 tokens.", "prompt", "context_length_exceeded");
    }
    return this.stream(body, response);
  }

  async stream(body, response) {
    const tokens = ANSWER.match(/\s*\S+/g).slice(0, body.max_tokens);
    const n = body.n ?? 1;
    let gone = false;
    response.on("close", () => {
      if (response.writableEnded) return;
      gone = true;
      this.hungUp += 1;
    });
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
    const chunk = (choices, usage) =>
      response.write(`data: ${JSON.stringify({ id: "cmpl-1", object: "text_completion", created: 1, model: body.model, choices, usage })}\n\n`);
    for (const [position, text] of tokens.entries()) {
      if (position === this.holdAt) await this.held;
      if (gone) return;
      if (body.prompt.includes("break off") && position === 3) {
        response.write(`data: ${JSON.stringify({ error: { message: "The server is about to stop.", type: "server_error", param: null, code: null } })}\n\n`);
        return response.end();
      }
      for (let index = 0; index < n; ++index) chunk([{ index, text, logprobs: null, finish_reason: null }], null);
      await new Promise((done) => setTimeout(done, this.tokenDelay));
    }
    for (let index = 0; index < n; ++index) chunk([{ index, text: "", logprobs: null, finish_reason: "length" }], null);
    chunk([], { prompt_tokens: 7, completion_tokens: n * tokens.length, total_tokens: 7 + n * tokens.length });
    response.end("data: [DONE]\n\n");
  }

  async operator(request, response) {
    if (!request.url.startsWith("/ledger")) return this.file(request, response);
    if (request.headers.authorization !== `Bearer ${OPERATOR_KEY}`) {
      return sendError(response, 401, "Send 'Authorization: Bearer KEY' with the operator's key.");
    }
    this.readings += 1;
    const ledger = ledgerOf(this.parts, this.readings, this.spentPart);
    if (request.url === "/ledger/verify") ledger.chain = this.chain;
    return sendJson(response, 200, ledger);
  }

  async file(request, response) {
    const path = request.url === "/" ? "index.html" : normalize(request.url).slice(1);
    try {
      const bytes = await readFile(join(this.root, path));
      response.writeHead(200, {
        "Content-Type": TYPES[path.split(".").pop()],
        "Content-Security-Policy": this.policy,
        "X-Content-Type-Options": "nosniff",
      });
      response.end(bytes);
    } catch {
      sendError(response, 404, "There is no such URL here.");
    }
  }
}
