// The pictures of docs/screenshots: both pages of a real server while it answers. It spends the
// deployment's budget, so give it the demo's:
//
//   ./dev demo
//   cd page && npm run screenshots -- ../build/release/submix ../build/demo/deployment
//   pngquant --ext .png --force ../docs/screenshots/*.png
//
// They look as committed where the fonts Inter, Linux Libertine and JetBrains Mono are installed.
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { launch, type } from "./browser.mjs";

const [submix, deployment] = process.argv.slice(2);
if (deployment === undefined) throw new Error("usage: screenshots.mjs SUBMIX DEPLOYMENT");
const out = fileURLToPath(new URL("../../docs/screenshots", import.meta.url));
const work = await mkdtemp(join(tmpdir(), "submix-screenshots-"));

// `submix serve` with both listeners, and a key for each.
async function startServer() {
  const operatorKey = randomBytes(16).toString("hex");
  const keyFile = join(work, "operator.key");
  const config = join(work, "serve.toml");
  await writeFile(keyFile, operatorKey, { mode: 0o600 });
  await writeFile(config, `[server]\nport = 0\n[operator]\nport = 0\nkey_file = "${keyFile}"\n`);
  const name = `screenshots ${Date.now()}`;
  const made = JSON.parse(execFileSync(submix, ["key", "create", deployment, "--name", name, "--json"], { encoding: "utf8" }));
  const process = spawn(submix, ["serve", deployment, "--config", config], { stdio: ["ignore", "ignore", "pipe"] });
  const log = createInterface({ input: process.stderr });
  let operatorUrl;
  for await (const line of log) {
    const entry = JSON.parse(line);
    if (entry.event === "operator_listening") operatorUrl = entry.address;
    if (entry.event === "listening") {
      process.stderr.resume();
      return { url: entry.address, model: entry.model, key: made.secret, id: made.id, operatorUrl, operatorKey, process };
    }
  }
  throw new Error("the server did not start");
}

async function stopServer(server) {
  const ended = once(server.process, "exit");
  server.process.kill("SIGTERM");
  await ended;
  execFileSync(submix, ["key", "revoke", deployment, server.id]);
}

async function withPage(browser, url, options, visit) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(url);
  await visit(page);
  await context.close();
}

const shot = (page, name, fullPage = false) => page.screenshot({ path: join(out, name), fullPage });

async function playground(browser, server, colorScheme, name, stopAt) {
  const options = { colorScheme, viewport: { width: 1180, height: 1060 } };
  await withPage(browser, server.url, options, async (page) => {
    await type(page, "#key", server.key);
    await page.waitForFunction(() => document.querySelectorAll("#model option").length > 0);
    await page.fill("#prompt", "JULIET:\nO gentle night, what news from yonder wall?\nSpeak low; the garden listens, and the moon.\n\nROMEO:\n");
    await page.fill("#max_tokens", "64");
    await page.fill("#temperature", "0.6");
    await page.click("#complete");
    if (stopAt === null) {
      await page.waitForSelector("#usage:not([hidden])");
      await page.waitForTimeout(1000);
    } else {
      await page.waitForFunction((count) => document.querySelectorAll(".token").length >= count, stopAt);
    }
    await shot(page, name);
  });
}

async function complete(server, maxTokens) {
  const response = await fetch(`${server.url}/v1/completions`, {
    method: "POST",
    headers: { Authorization: `Bearer ${server.key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ model: server.model, prompt: "ROMEO:\n", max_tokens: maxTokens }),
  });
  if (!response.ok) throw new Error(await response.text());
  await response.arrayBuffer();
}

async function operator(browser, server, colorScheme, name, sort) {
  const options = { colorScheme, viewport: { width: 1180, height: 1000 } };
  await withPage(browser, server.operatorUrl, options, async (page) => {
    await type(page, "#key", server.operatorKey);
    await page.waitForSelector("#ledger:not([hidden])");
    const load = Promise.all(Array.from({ length: 4 }, () => complete(server, 100)));
    await page.click("#verify");
    await page.waitForSelector(".badge[data-state=whole]");
    await load;
    await page.click("#refresh");
    await page.selectOption("#sort", sort);
    await page.waitForTimeout(1500);
    await page.locator("#sort").blur();
    await shot(page, name, true);
  });
}

await mkdir(out, { recursive: true });
const server = await startServer();
const browser = await launch();
try {
  await playground(browser, server, "light", "playground.png", null);
  await playground(browser, server, "dark", "playground_dark.png", 24);
  await operator(browser, server, "light", "ledger.png", "ledger");
  await operator(browser, server, "dark", "ledger_dark.png", "spent");
} finally {
  await browser.close();
  await stopServer(server);
  await rm(work, { recursive: true });
}
