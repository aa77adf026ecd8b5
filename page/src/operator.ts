// The operator's page: the ledger, read again every few seconds.
import { byId, element } from "./dom";
import { describe } from "./http_error";
import { answersLeft, duration, rateBetween, share, spentParts } from "./ledger_figures";
import type { Reading } from "./ledger_figures";
import { readLedger } from "./operator_api";
import type { Chain, Ledger, Promised } from "./operator_api";
import { PartBars } from "./part_bars";
import { offerThemes, rememberKey } from "./session";

const EVERY_MS = 5000;

const key = byId("key", HTMLInputElement);
const follow = byId("follow", HTMLInputElement);
const sort = byId("sort", HTMLSelectElement);
const verify = byId("verify", HTMLButtonElement);
const status = byId("status", HTMLElement);
const error = byId("error", HTMLElement);
const bars = new PartBars(byId("parts", HTMLElement), byId("skyline", HTMLElement));

let first: Reading | null = null; // since the page was opened
let last: Reading | null = null;
let verified: Chain = { state: "unchecked" };
let verifiedAt = 0; // in records
let reading: Promise<void> | null = null; // one at a time

function write(id: string, ...content: (Node | string)[]): void {
  byId(id, HTMLElement).replaceChildren(...content);
}

function plural(count: number, word: string): string {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

function showAnswers(ledger: Ledger): void {
  const left = answersLeft(ledger.parts);
  write("answers-left", left === null ? "–" : left.least.toLocaleString("en"));
  write(
    "answers-left-note",
    left === null
      ? "not told by this server"
      : `tokens that all parts together can surely back; the part with most can back ${left.most.toLocaleString("en")}`,
  );
}

function showSpent(ledger: Ledger): void {
  const shares = ledger.parts.map(share);
  const mean = shares.reduce((sum, value) => sum + value, 0) / Math.max(shares.length, 1);
  write("spent", `${(100 * mean).toFixed(1)}%`);
  write("spent-note", `mean of ${plural(shares.length, "part")}; ${spentParts(ledger.parts)} spent to the last sure answer`);
}

function showRate(): void {
  const rate = first === null || last === null ? null : rateBetween(first, last);
  if (rate === null) {
    write("rate", "…");
    write("rate-note", "measured since this page was opened");
    return;
  }
  write("rate", rate.recordsPerMinute.toLocaleString("en", { maximumFractionDigits: rate.recordsPerMinute < 10 ? 1 : 0 }), element("small", "", " records/min"));
  write(
    "rate-note",
    rate.secondsLeft === null
      ? "since this page was opened; nothing is being spent"
      : `since this page was opened; at this rate the first part lasts ${duration(rate.secondsLeft)}`,
  );
}

function showChain(ledger: Ledger): void {
  const words = { unchecked: "not checked", whole: "whole", broken: "broken" };
  const badge = element("span", "badge", words[verified.state]);
  badge.dataset["state"] = verified.state;
  write("chain", badge);
  const grown = ledger.records - verifiedAt;
  const since = verified.state === "whole" && grown > 0 ? `, ${grown.toLocaleString("en")} of them since the check` : "";
  write("records", plural(ledger.records, "record") + since);
  write("head", ledger.head === "" ? "–" : ledger.head.slice(0, 12));
  byId("head", HTMLElement).title = ledger.head;
}

function showPromise(promise: Promised | null): void {
  byId("promise-panel", HTMLElement).hidden = promise === null;
  if (promise === null) return;
  write("promise", promise.sentence);
  write("promise-columns", element("td"), ...promise.columns.map((name) => heading("col", `one ${name}`)));
  const rows = promise.rows.map(({ label, cells }) =>
    element("tr", "", heading("row", label), ...cells.map((cell) => element("td", "", cell))),
  );
  write("promise-rows", ...rows);
}

function heading(scope: string, words: string): HTMLTableCellElement {
  const made = element("th", "", words);
  made.scope = scope;
  return made;
}

function show(): void {
  if (last === null) return;
  const { ledger } = last;
  write("deployment", ledger.mechanism === "" ? "" : `of a ${ledger.mechanism} deployment`);
  write("order-note", `nats at order ${ledger.order || "?"}${ledger.unit === "" ? "" : `, a budget for every ${ledger.unit}`}`);
  showAnswers(ledger);
  showSpent(ledger);
  showRate();
  showChain(ledger);
  bars.show(ledger.parts, sort.value === "spent");
  showPromise(ledger.promise);
  byId("ledger", HTMLElement).hidden = false;
}

function showError(message: string): void {
  error.textContent = message;
  error.hidden = message === "";
}

async function read(withChain: boolean): Promise<void> {
  if (key.value === "") {
    status.textContent = "Give the operator's key to begin.";
    return;
  }
  while (reading !== null) await reading;
  reading = readOnce(withChain);
  await reading;
  reading = null;
}

async function readOnce(withChain: boolean): Promise<void> {
  if (withChain) status.textContent = "Recomputing the chain …";
  try {
    const ledger = await readLedger(key.value, withChain);
    last = { ledger, at: performance.now() };
    first ??= last;
    if (ledger.chain.state !== "unchecked") {
      verified = ledger.chain;
      verifiedAt = ledger.records;
    }
    showError(verified.state === "broken" ? `The chain is broken: ${verified.message}` : "");
    status.textContent = `Read at ${new Date().toLocaleTimeString("en-GB")}.`;
    show();
  } catch (problem) {
    status.textContent = "";
    showError(describe(problem));
  }
}

offerThemes(byId("theme", HTMLButtonElement));
rememberKey(key, "submix-operator-key", () => void read(false));
byId("form", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  void read(false);
});
verify.addEventListener("click", () => void read(true));
sort.addEventListener("change", show);
setInterval(() => {
  if (follow.checked && last !== null && reading === null && !document.hidden) void read(false);
}, EVERY_MS);
void read(false);
