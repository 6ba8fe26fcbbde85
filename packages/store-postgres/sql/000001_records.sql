-- The records, the fences, the index by which the sweep finds what has expired, and the function that takes a record.
-- Placeholders are replaced by checked and quoted names; this runs inside a PL/pgSQL block.

CREATE SEQUENCE {{fences}} AS bigint;

CREATE TABLE {{table}} (
  -- When claim, find, list and sweep take the record for absent.
  expires_at timestamptz NOT NULL,
  -- Never later than expires_at, and at most a minute earlier. Only this column is indexed, so that complete and renew can
  -- leave it alone: an update of an indexed column costs new entries in every index (no HOT).
  sweep_after timestamptz NOT NULL,
  lease_until timestamptz NOT NULL,
  claimed_at timestamptz NOT NULL,
  completed_at timestamptz,
  fence bigint NOT NULL,
  retain_ms bigint NOT NULL,
  attempt integer NOT NULL,
  taken_over boolean NOT NULL,
  -- Somebody waits for this record: whoever changes it notifies.
  watched boolean NOT NULL,
  id text COLLATE "C" NOT NULL,
  -- With row-level security, who made it; else empty.
  owner text COLLATE "C" NOT NULL,
  -- NULL: released; the row stays for its steps until expires_at.
  token text COLLATE "C",
  fingerprint text COLLATE "C" NOT NULL,
  label text COLLATE "C",
  -- Steps live in the record's own row, so that whoever locks the row sees all of them, whatever its snapshot.
  step_names text[] COLLATE "C" NOT NULL,
  step_results bytea[] NOT NULL,
  outcome bytea,
  CONSTRAINT {{primaryKey}} PRIMARY KEY (id, owner)
-- Room on each page for the version that complete writes; empty pages stay, so that a cached plan never turns to a
-- sequential scan because the table was small for a moment.
) WITH (fillfactor = 70, vacuum_truncate = false);

CREATE INDEX {{sweepIndex}} ON {{table}} (sweep_after);

-- Takes the record if nobody has it, or if it may be taken over. No row: somebody has it now.
CREATE FUNCTION {{take}}(
  _id text, _owner text, _token text, _fingerprint text, _lease_ms float8, _retain_ms float8, _takeover boolean, _label text,
  _channel text, OUT head text, OUT outcome bytea, OUT step_names text[], OUT step_results bytea[]
) RETURNS SETOF record LANGUAGE plpgsql ROWS 1 AS $take$
DECLARE
  _now CONSTANT timestamptz := statement_timestamp();
  _lease_until CONSTANT timestamptz := _now + _lease_ms * interval '1 millisecond';
  _expires_at CONSTANT timestamptz := _now + greatest(_lease_ms, _retain_ms) * interval '1 millisecond';
  _lock CONSTANT bigint := hashtextextended(_id, 6051);
  _fence bigint;
  _resumes boolean;
  r {{table}}%ROWTYPE;
BEGIN
  -- One claim of an id at a time, so that fences grow in the order of the claims, even across a removal.
  IF NOT pg_try_advisory_xact_lock(_lock) THEN
    PERFORM pg_advisory_xact_lock(_lock);
  END IF;
  INSERT INTO {{table}} AS n (
    expires_at, sweep_after, lease_until, claimed_at, fence, retain_ms, attempt, taken_over, watched, id, owner, token,
    fingerprint, label, step_names, step_results)
  VALUES (
    _expires_at, _expires_at, _lease_until, _now, nextval('{{fences}}'), _retain_ms, 1, false, false, _id, _owner, _token,
    _fingerprint, _label, '{}', '{}')
  ON CONFLICT DO NOTHING
  RETURNING n.fence INTO _fence;
  IF FOUND THEN
    head := concat_ws(' ', 'claimed', _fence, 1, false);
    RETURN NEXT;
    RETURN;
  END IF;

  SELECT * INTO r FROM {{table}} t WHERE t.id = _id AND t.owner = _owner FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  ELSIF r.expires_at <= _now THEN
    _resumes := false;
  ELSIF r.token = _token AND r.completed_at IS NULL THEN
    -- Our own claim, repeated because its answer was lost.
    UPDATE {{table}} t SET
      lease_until = _lease_until, expires_at = _expires_at, sweep_after = _expires_at, retain_ms = _retain_ms
    WHERE t.id = _id AND t.owner = _owner;
    head := concat_ws(' ', 'claimed', r.fence, r.attempt, r.taken_over);
    step_names := r.step_names;
    step_results := r.step_results;
    RETURN NEXT;
    RETURN;
  ELSIF r.token IS NULL THEN
    _resumes := r.fingerprint = _fingerprint;
  ELSIF r.completed_at IS NULL AND r.lease_until <= _now AND _takeover AND r.fingerprint = _fingerprint THEN
    _resumes := true;
  ELSE
    RETURN;
  END IF;

  IF NOT _resumes THEN
    r.attempt := 0;
    r.step_names := '{}';
    r.step_results := '{}';
  END IF;
  UPDATE {{table}} t SET
    expires_at = _expires_at, sweep_after = _expires_at, lease_until = _lease_until, claimed_at = _now, completed_at = NULL,
    fence = nextval('{{fences}}'), retain_ms = _retain_ms, attempt = r.attempt + 1,
    taken_over = _resumes AND r.token IS NOT NULL, token = _token, fingerprint = _fingerprint, label = _label,
    step_names = r.step_names, step_results = r.step_results, outcome = NULL
  WHERE t.id = _id AND t.owner = _owner
  RETURNING concat_ws(' ', 'claimed', t.fence, t.attempt, t.taken_over) INTO head;
  step_names := r.step_names;
  step_results := r.step_results;
  IF r.watched THEN
    PERFORM pg_notify(_channel, _id);
  END IF;
  RETURN NEXT;
END
$take$;
