-- The records, the fences, the index by which the sweep finds what has expired, and the functions that take a record.
-- Placeholders are replaced by checked and quoted names; this runs inside a PL/pgSQL block.

CREATE SEQUENCE {{fences}} AS bigint;

CREATE TABLE {{table}} (
  -- What an update rarely changes comes first, then what complete changes: the log of an update leaves out the common beginning.
  id text COLLATE "C" NOT NULL,
  -- With row-level security, who made it; else empty.
  owner text COLLATE "C" NOT NULL,
  -- NULL: released; the row stays for its steps until expires_at.
  token text COLLATE "C",
  fingerprint text COLLATE "C" NOT NULL,
  label text COLLATE "C",
  fence bigint NOT NULL,
  retain_ms float8 NOT NULL,
  claimed_at timestamptz NOT NULL,
  lease_until timestamptz NOT NULL,
  -- Never later than expires_at, and hardly earlier. This column is indexed instead, so that complete and renew can leave it
  -- alone: an update of an indexed column costs new entries in every index (no HOT).
  sweep_after timestamptz NOT NULL,
  attempt integer NOT NULL,
  taken_over boolean NOT NULL,
  -- Somebody waits for this record: whoever changes it notifies.
  watched boolean NOT NULL,
  -- Steps live in the record's own row, so that whoever locks the row sees all of them, whatever its snapshot.
  step_names text[] COLLATE "C" NOT NULL,
  step_results bytea[] NOT NULL,
  -- When claim, find, list and sweep take the record for absent.
  expires_at timestamptz NOT NULL,
  completed_at timestamptz,
  outcome bytea,
  CONSTRAINT {{primaryKey}} PRIMARY KEY (id, owner)
-- Room on each page for the version that complete writes; empty pages stay, so that a cached plan never turns to a
-- sequential scan because the table was small for a moment.
) WITH (fillfactor = 70, vacuum_truncate = false);

CREATE INDEX {{sweepIndex}} ON {{table}} (sweep_after);

-- Takes a record that is there if it may be taken. The words of the answer are those of claim.sql; NULL: somebody has it now.
CREATE FUNCTION {{retake}}(
  _id text, _owner text, _token text, _fingerprint text, _lease_ms float8, _retain_ms float8, _takeover boolean, _label text,
  _channel text
) RETURNS text LANGUAGE plpgsql AS $retake$
DECLARE
  _now CONSTANT timestamptz := statement_timestamp();
  _lease_until CONSTANT timestamptz := _now + _lease_ms * interval '1 millisecond';
  _sweep_after CONSTANT timestamptz := _now + _retain_ms * interval '1 millisecond';
  _expires_at CONSTANT timestamptz := greatest(_lease_until, _sweep_after);
  _resumes boolean;
  r {{table}}%ROWTYPE;
BEGIN
  SELECT * INTO r FROM {{table}} t WHERE t.id = _id AND t.owner = _owner FOR UPDATE;
  IF NOT FOUND THEN
    RETURN NULL;
  ELSIF r.expires_at <= _now THEN
    _resumes := false;
  ELSIF r.token = _token AND r.completed_at IS NULL THEN
    -- Our own claim, repeated because its answer was lost.
    UPDATE {{table}} t SET
      lease_until = _lease_until, expires_at = _expires_at, sweep_after = _sweep_after, retain_ms = _retain_ms
    WHERE t.id = _id AND t.owner = _owner
    RETURNING * INTO r;
    RETURN {{claimed}};
  ELSIF r.token IS NULL THEN
    _resumes := r.fingerprint = _fingerprint;
  ELSIF r.completed_at IS NOT NULL OR r.lease_until > _now THEN
    RETURN NULL;
  ELSIF _takeover AND r.fingerprint = _fingerprint THEN
    _resumes := true;
  ELSE
    RETURN concat_ws(' ', r.fingerprint, r.fence, r.attempt, 0);
  END IF;

  IF NOT _resumes THEN
    r.attempt := 0;
    r.step_names := '{}';
    r.step_results := '{}';
  END IF;
  IF r.watched THEN
    PERFORM pg_notify(_channel, _id);
  END IF;
  UPDATE {{table}} t SET
    token = _token, fingerprint = _fingerprint, label = _label, fence = nextval('{{fences}}'), retain_ms = _retain_ms,
    claimed_at = _now, lease_until = _lease_until, sweep_after = _sweep_after, attempt = r.attempt + 1,
    taken_over = _resumes AND r.token IS NOT NULL, step_names = r.step_names, step_results = r.step_results,
    expires_at = _expires_at, completed_at = NULL, outcome = NULL
  WHERE t.id = _id AND t.owner = _owner
  RETURNING * INTO r;
  RETURN {{claimed}};
END
$retake$;

-- Takes a record that is absent, or else as above. In a function of its own, which has little to set up.
CREATE FUNCTION {{take}}(
  _id text, _owner text, _token text, _fingerprint text, _lease_ms float8, _retain_ms float8, _takeover boolean, _label text,
  _channel text
) RETURNS text LANGUAGE plpgsql AS $take$
DECLARE
  _head text;
BEGIN
  -- One claim of an id at a time, so that fences grow in the order of the claims, even across a removal. To try first is
  -- cheaper: an IF costs less than a PERFORM.
  IF NOT pg_try_advisory_xact_lock(hashtextextended(_id, 6051)) THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(_id, 6051));
  END IF;
  INSERT INTO {{table}} AS r (
    id, owner, token, fingerprint, label, fence, retain_ms, claimed_at, lease_until, sweep_after, attempt, taken_over, watched,
    step_names, step_results, expires_at)
  VALUES (
    _id, _owner, _token, _fingerprint, _label, nextval('{{fences}}'), _retain_ms, statement_timestamp(),
    statement_timestamp() + _lease_ms * interval '1 millisecond',
    statement_timestamp() + _retain_ms * interval '1 millisecond', 1, false, false, '{}', '{}',
    statement_timestamp() + greatest(_lease_ms, _retain_ms) * interval '1 millisecond')
  ON CONFLICT DO NOTHING
  RETURNING concat('+ ', r.fence, ' 1 f') INTO _head;
  IF FOUND THEN
    RETURN _head;
  END IF;
  RETURN {{retake}}(_id, _owner, _token, _fingerprint, _lease_ms, _retain_ms, _takeover, _label, _channel);
END
$take$;
