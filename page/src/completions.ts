// The part of OpenAI's API that the playground speaks.
import { eventData } from "./event_stream";
import { HttpError, errorOf, errorOfResponse, isObject } from "./http_error";

export interface CompletionRequest {
  model: string;
  prompt: string;
  max_tokens: number;
  temperature: number;
  top_p: number;
  top_k: number; // 0: all tokens
  n: number;
  stop: string[];
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
}

export interface Piece {
  index: number; // of the choice
  text: string;
  finish_reason: string | null;
}

export interface CompletionEvents {
  piece(piece: Piece): void;
  usage(usage: Usage): void;
}

function headers(key: string): Record<string, string> {
  return key === "" ? {} : { Authorization: `Bearer ${key}` };
}

export async function listModels(key: string): Promise<string[]> {
  const response = await fetch("v1/models", { headers: headers(key) });
  if (!response.ok) throw await errorOfResponse(response);
  const body: unknown = await response.json();
  const list = isObject(body) && Array.isArray(body["data"]) ? body["data"] : [];
  return list.flatMap((model: unknown) =>
    isObject(model) && typeof model["id"] === "string" ? [model["id"]] : [],
  );
}

// The body that is sent. Settings at their neutral values are left out.
export function bodyOf(request: CompletionRequest): Record<string, unknown> {
  const { stop, n, top_k, top_p, ...rest } = request;
  return {
    ...rest,
    ...(top_p < 1 ? { top_p } : {}),
    ...(top_k > 0 ? { top_k } : {}),
    ...(n > 1 ? { n } : {}),
    ...(stop.length > 0 ? { stop } : {}),
    stream: true,
    stream_options: { include_usage: true },
  };
}

// Returns when the stream has ended well. Throws HttpError for what the server says, and what fetch
// throws: AbortError once `signal` is aborted, TypeError if nobody answers.
export async function streamCompletion(
  request: CompletionRequest,
  key: string,
  signal: AbortSignal,
  events: CompletionEvents,
): Promise<void> {
  const response = await fetch("v1/completions", {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers(key) },
    body: JSON.stringify(bodyOf(request)),
    signal,
  });
  if (!response.ok) throw await errorOfResponse(response);
  if (response.body === null) throw new HttpError(0, "The answer has no body.");
  for await (const data of eventData(response.body)) {
    if (data === "[DONE]") return;
    report(JSON.parse(data), events);
  }
  throw new HttpError(0, "The server ended the answer before its end.");
}

function report(chunk: unknown, events: CompletionEvents): void {
  if (!isObject(chunk)) return;
  if (isObject(chunk["error"])) throw errorOf(0, chunk);
  const choices: unknown[] = Array.isArray(chunk["choices"]) ? chunk["choices"] : [];
  for (const choice of choices) {
    if (!isObject(choice)) continue;
    events.piece({
      index: typeof choice["index"] === "number" ? choice["index"] : 0,
      text: typeof choice["text"] === "string" ? choice["text"] : "",
      finish_reason: typeof choice["finish_reason"] === "string" ? choice["finish_reason"] : null,
    });
  }
  const usage = chunk["usage"];
  if (!isObject(usage)) return;
  events.usage({
    prompt_tokens: Number(usage["prompt_tokens"] ?? 0),
    completion_tokens: Number(usage["completion_tokens"] ?? 0),
  });
}
