// The playground: a prompt, public settings, the answers as they stream.
import { AnswerCards } from "./answer_cards";
import { bodyOf, listModels, streamCompletion } from "./completions";
import type { CompletionRequest, Usage } from "./completions";
import { byId, copyOnClick, element } from "./dom";
import { describe } from "./http_error";
import { offerThemes, rememberKey } from "./session";

const form = byId("form", HTMLFormElement);
const prompt = byId("prompt", HTMLTextAreaElement);
const complete = byId("complete", HTMLButtonElement);
const cancel = byId("cancel", HTMLButtonElement);
const status = byId("status", HTMLElement);
const error = byId("error", HTMLElement);
const usageLine = byId("usage", HTMLElement);
const key = byId("key", HTMLInputElement);
const model = byId("model", HTMLSelectElement);
const cards = new AnswerCards(byId("answers", HTMLElement));

let running: AbortController | null = null;

function numberIn(id: string): number {
  return byId(id, HTMLInputElement).valueAsNumber;
}

function settings(): CompletionRequest {
  return {
    model: model.value,
    prompt: prompt.value,
    max_tokens: numberIn("max_tokens"),
    temperature: numberIn("temperature"),
    top_p: numberIn("top_p"),
    top_k: numberIn("top_k"),
    n: numberIn("n"),
    stop: byId("stop", HTMLTextAreaElement)
      .value.split("\n")
      .filter((line) => line !== "")
      .map((line) => line.replaceAll("\\n", "\n")),
  };
}

function showError(problem: unknown): void {
  error.textContent = problem === null ? "" : describe(problem);
  error.hidden = problem === null;
}

function showRunning(is: boolean): void {
  complete.disabled = is;
  cancel.disabled = !is;
  cards.busy = is;
}

// One line for text of the public model and of the mixture: nothing tells them apart.
function showUsage(usage: Usage, seconds: number): void {
  const rate = usage.completion_tokens / Math.max(seconds, 1e-3);
  const items: [string, string][] = [
    [usage.prompt_tokens.toLocaleString("en"), "prompt tokens"],
    [usage.completion_tokens.toLocaleString("en"), "drawn tokens"],
    [seconds.toFixed(1), "s"],
    [rate.toFixed(rate < 10 ? 1 : 0), "tokens/s"],
  ];
  usageLine.replaceChildren(
    ...items.map(([value, unit]) => element("span", "", element("b", "", value), ` ${unit}`)),
  );
  usageLine.hidden = false;
}

async function run(): Promise<void> {
  if (running !== null) return;
  const request = settings();
  const start = performance.now();
  const seconds = () => (performance.now() - start) / 1000;
  running = new AbortController();
  showError(null);
  usageLine.hidden = true;
  cards.open(request.prompt, request.n);
  showRunning(true);
  status.textContent = "Waiting for the first token …";
  try {
    await streamCompletion(request, key.value, running.signal, {
      piece: (piece) => {
        if (status.textContent !== "Streaming …") status.textContent = "Streaming …";
        cards.add(piece);
      },
      usage: (usage) => showUsage(usage, seconds()),
    });
    status.textContent = "Done.";
  } catch (problem) {
    if (running.signal.aborted) {
      status.textContent = "Cancelled. What was drawn stays charged.";
    } else {
      status.textContent = "";
      showError(problem);
    }
    cards.breakOff();
  } finally {
    running = null;
    showRunning(false);
  }
}

async function fillModels(): Promise<void> {
  try {
    const names = await listModels(key.value);
    model.replaceChildren(...names.map((name) => element("option", "", name)));
    key.setCustomValidity("");
    showError(null);
  } catch (problem) {
    model.replaceChildren();
    // So that the browser points at the key, not at the empty list of models behind it.
    const isMissing = key.value === "";
    key.setCustomValidity(isMissing ? "Give an API key; `submix key create` makes one." : describe(problem));
    if (!isMissing) return showError(problem);
    status.textContent = "Give an API key to begin.";
  }
  showCurl();
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function curlCommand(): string {
  const url = new URL("v1/completions", location.href);
  return [
    `curl -N ${url.href}`,
    `-H "Authorization: Bearer $SUBMIX_API_KEY"`,
    `-H 'Content-Type: application/json'`,
    `-d ${quoted(JSON.stringify(bodyOf(settings()), null, 1))}`,
  ].join(" \\\n  ");
}

function showCurl(): void {
  byId("curl", HTMLElement).textContent = curlCommand();
  for (const id of ["temperature", "top_p"]) {
    byId(`${id}-value`, HTMLOutputElement).value = numberIn(id).toFixed(2);
  }
}

offerThemes(byId("theme", HTMLButtonElement));
rememberKey(key, "submix-api-key", () => {
  status.textContent = "";
  void fillModels();
});
copyOnClick(byId("copy-curl", HTMLButtonElement), curlCommand);
form.addEventListener("input", showCurl);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  void run();
});
cancel.addEventListener("click", () => running?.abort());
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.abort();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
showCurl();
void fillModels();
