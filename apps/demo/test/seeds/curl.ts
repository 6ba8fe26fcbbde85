/** What a service answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/**
 * Runs the curl commands of a document as they are printed there, one after the other, against this address instead of
 * the document's host (or where it names none).
 */
export async function curl(address: string, commands: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  const joined = commands.replaceAll(/\\\n\s*/g, " ").replaceAll(/^\s*#.*$/gm, "");
  for (const command of joined.split(/^\s*(?=curl )/m).filter((text) => text.trim() !== "")) {
    const { url, ...request } = parse(command.trim());
    answers.push(await send(`${address}${url.replace(/^https?:\/\/[^/]+/, "")}`, request));
  }
  return answers;
}

/** Sends JSON, for what documents say in words. */
export function post(url: string, headers: Record<string, string>, body: unknown, method = "POST"): Promise<Answer> {
  const init = { method, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
  return send(url, init);
}

async function send(url: string, request: RequestInit): Promise<Answer> {
  const response = await fetch(url, request);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer["body"] };
}

/** The few options that the documents use. */
function parse(command: string): { url: string; method: string; headers: Headers; body?: string } {
  const words = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? "",
  );
  const headers = new Headers();
  const parsed: ReturnType<typeof parse> = { url: "", method: "GET", headers };
  for (let index = 1; index < words.length; index += 1) {
    const word = words[index] ?? "";
    const value = words[index + 1] ?? "";
    if (word === "-X") parsed.method = value;
    else if (word === "-d") parsed.body = value;
    else if (word === "-H") headers.append(...(value.split(/: ?(.*)/, 2) as [string, string]));
    else {
      parsed.url = word;
      continue;
    }
    index += 1;
  }
  return parsed;
}
