/** A request to begin with. */
interface Preset {
  readonly name: string;
  readonly path: string;
  readonly keyHeader: string;
  /** Empty where the service derives one. */
  readonly key: () => string;
  readonly body: string;
}

const json = (value: unknown) => JSON.stringify(value, null, 2);
const random = () => crypto.randomUUID();

/** One request for each service of the five documents. */
export const presets: readonly [Preset, ...Preset[]] = [
  {
    name: "FormBridge: submit (409 for a reused key)",
    path: "/api/intakes/vendor-onboarding/submit",
    keyHeader: "Idempotency-Key",
    key: () => `idem_${random()}`,
    body: json({ fields: { companyName: "Acme Corp" } }),
  },
  {
    name: "FormBridge, feature 008: create (422)",
    path: "/api/feature-008/intakes/vendor-onboarding/submissions",
    keyHeader: "Idempotency-Key",
    key: random,
    body: json({ fields: { companyName: "Acme Corp" } }),
  },
  {
    name: "Form broker: submit (no key needed)",
    path: "/api/forms/test-form/submit",
    keyHeader: "Idempotency-Key",
    key: () => "",
    body: json({ contextId: `test-form:${random()}`, formData: { name: "John Doe", email: "john@example.com" } }),
  },
  {
    name: "Leads (a new lead for other data)",
    path: "/api/leads",
    keyHeader: "X-Idempotency-Key",
    key: random,
    body: json({ name: "John Doe", email: "john@example.com", phone: "+79001234567" }),
  },
  {
    name: "Assessments: save an answer",
    path: "/api/funnels/stress/assessments/a1/answers/save",
    keyHeader: "Idempotency-Key",
    key: random,
    body: json({ stepId: "s1", questionId: "q1", answerValue: 3 }),
  },
  {
    name: "A slow one, for the operator (1.6 seconds)",
    path: "/api/intakes/background-check/submit",
    keyHeader: "Idempotency-Key",
    key: () => `idem_${random()}`,
    body: json({ fields: { fullName: "Ada Lovelace" } }),
  },
];
