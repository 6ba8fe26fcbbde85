import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";

/** A request of the kit's client. */
export interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array;
}

/** What came back, byte for byte. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Header lines as on the wire. */
  readonly lines: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** An HTTP client over real sockets that hides nothing. */
export function createClient(port: number) {
  const agent = new Agent({ keepAlive: true });
  return {
    /** Sends, and reads to the end. */
    send: ({ method = "POST", path = "/orders", headers = {}, body }: Ask = {}): Promise<Reply> =>
      new Promise((resolve, reject) => {
        const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
        const outgoing = request({ port, host: "127.0.0.1", method, path, agent, headers: { ...length, ...headers } });
        outgoing.on("error", reject);
        outgoing.on("response", (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => void chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => {
            const raw = response.rawHeaders;
            const lines = raw.flatMap((name, index) => (index % 2 ? [] : [[name, raw[index + 1] as string] as const]));
            const { statusCode = 0, headers } = response;
            resolve({ status: statusCode, headers, lines, body: Buffer.concat(chunks) });
          });
        });
        outgoing.end(body);
      }),
    /** Sends bytes as they are, and resolves with all that comes until the server closes. */
    raw: (text: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(port, "127.0.0.1", () => socket.write(text));
        let received = "";
        socket.setEncoding("latin1");
        socket.on("data", (chunk: string) => {
          received += chunk;
        });
        socket.on("error", reject);
        socket.on("close", () => resolve(received));
      }),
    /** Sends a request whose client goes away when told to. */
    vanishing: ({ method = "POST", path = "/orders", headers = {}, body = "" }: Ask = {}): (() => void) => {
      const outgoing = request({ port, host: "127.0.0.1", method, path, headers });
      outgoing.on("error", () => {});
      outgoing.end(body);
      return () => outgoing.destroy();
    },
    close: () => agent.destroy(),
  };
}

/** See {@link createClient}. */
export type Client = ReturnType<typeof createClient>;
