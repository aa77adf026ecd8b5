// The pictures of docs/screenshots, of both pages before the tests' server:
//
//   npm run build && npm run screenshots && pngquant --ext .png --force ../docs/screenshots/*.png
//
// They look as committed where the fonts Inter, Linux Libertine and JetBrains Mono are installed.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch, type, withPage } from "./browser.mjs";
import { API_KEY, OPERATOR_KEY } from "./fake_server.mjs";

const out = fileURLToPath(new URL("../../docs/screenshots", import.meta.url));
await mkdir(out, { recursive: true });
const browser = await launch();
const shot = (page, name) => page.screenshot({ path: join(out, name) });

async function playground(colorScheme, name, stopAt) {
  await withPage(
    browser,
    "playground",
    async (page, server) => {
      server.tokenDelay = 60;
      await type(page, "#key", API_KEY);
      await page.fill("#prompt", "JULIET:\nO gentle night, what news from yonder wall?\nSpeak low; the garden listens, and the moon.\n\n");
      await page.fill("#temperature", "0.8");
      await page.click("#complete");
      await page.waitForFunction((count) => document.querySelectorAll(".token").length >= count, stopAt ?? 1);
      if (stopAt === null) await page.waitForSelector("#usage:not([hidden])");
      if (stopAt === null) await page.waitForTimeout(1000);
      await shot(page, name);
    },
    { colorScheme, viewport: { width: 1180, height: 980 } },
  );
}

async function operator(colorScheme, name, parts, spentPart) {
  await withPage(
    browser,
    "operator",
    async (page, server) => {
      server.parts = parts;
      server.spentPart = spentPart;
      await type(page, "#key", OPERATOR_KEY);
      await page.waitForSelector("#ledger:not([hidden])");
      await page.waitForTimeout(4000);
      await page.click("#verify");
      await page.waitForSelector(".badge[data-state=whole]");
      await page.click("#refresh");
      await page.waitForTimeout(1500);
      await page.locator("#refresh").blur();
      await shot(page, name);
    },
    { colorScheme, viewport: { width: 1180, height: 880 } },
  );
}

await playground("light", "playground.png", null);
await playground("dark", "playground_dark.png", 24);
await operator("light", "ledger.png", 128, -1);
await operator("dark", "ledger_dark.png", 8, 3);
await browser.close();
