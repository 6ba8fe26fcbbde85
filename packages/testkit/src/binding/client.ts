import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";
import { eventually, within } from "../store/waiting.ts";

/** A request of the kit's client. */
export interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array;
  /** On a connection of its own, because the server may close it. */
  readonly alone?: boolean;
}

/** What came back, byte for byte. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Header lines as on the wire. */
  readonly lines: readonly (readonly [string, string])[];
  readonly body: Buffer;
  readonly text: string;
  readonly replayed: boolean;
}

/** A connection on which bytes go as they are. */
export interface RawConnection {
  readonly write: (bytes: string | Uint8Array) => void;
  /** All that came so far, a character for a byte. */
  readonly received: () => string;
  /** Resolves when what came so far matches. */
  readonly until: (pattern: RegExp) => Promise<string>;
  /** Resolves with all that came, once the server has closed. */
  readonly ended: () => Promise<string>;
  /** Stops and goes on reading. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Goes away. */
  readonly destroy: () => void;
}

/** An HTTP client over real sockets that hides nothing. */
export function createClient(port: number, patienceMs: number) {
  const agent = new Agent({ keepAlive: true });
  const host = "127.0.0.1";

  const send = ({ method = "POST", path = "/orders", headers = {}, body, alone = false }: Ask = {}): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
      const connection = alone ? false : agent;
      const outgoing = request({ port, host, method, path, agent: connection, headers: { ...length, ...headers } });
      outgoing.on("error", reject);
      outgoing.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => void chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const raw = response.rawHeaders;
          const lines = raw.flatMap((name, index) => (index % 2 ? [] : [[name, raw[index + 1] as string] as const]));
          const { statusCode: status = 0, headers } = response;
          const whole = Buffer.concat(chunks);
          const replayed = headers["idempotent-replayed"] === "true";
          resolve({ status, headers, lines, body: whole, text: whole.toString(), replayed });
        });
      });
      outgoing.end(body);
    });

  const open = (): RawConnection => {
    const socket = connect(port, host);
    let received = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      received += chunk;
    });
    socket.on("error", () => {});
    const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    return {
      write: (bytes) => void socket.write(bytes),
      received: () => received,
      async until(pattern) {
        await eventually(`the client receives ${pattern}`, () => pattern.test(received), patienceMs);
        return received;
      },
      async ended() {
        await within("the server closes the connection", closed, patienceMs);
        return received;
      },
      pause: () => void socket.pause(),
      resume: () => void socket.resume(),
      destroy: () => void socket.destroy(),
    };
  };

  return {
    /** Sends, and reads to the end. */
    send(ask?: Ask): Promise<Reply> {
      const reply = within("the response", send(ask), 3 * patienceMs);
      // A case that fails before it looks at the answer must not leave an unhandled rejection behind.
      reply.catch(() => {});
      return reply;
    },
    open,
    /** Sends bytes as they are, and resolves with all that comes until the server closes. */
    async raw(bytes: string | Uint8Array): Promise<string> {
      const connection = open();
      connection.write(bytes);
      const received = await connection.ended();
      connection.destroy();
      return received;
    },
    /** Sends a request whose client goes away when told to. */
    vanishing({ method = "POST", path = "/orders", headers = {}, body = "" }: Ask = {}): () => void {
      const outgoing = request({ port, host, method, path, headers });
      outgoing.on("error", () => {});
      outgoing.end(body);
      return () => outgoing.destroy();
    },
    close: () => agent.destroy(),
  };
}

/** See {@link createClient}. */
export type Client = ReturnType<typeof createClient>;
