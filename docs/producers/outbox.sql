-- An outbox for Tidemark in PostgreSQL: what a transaction writes here reaches Kafka if it commits, and only then.

CREATE TABLE tidemark_outbox (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  topic text NOT NULL CHECK (topic IN ('forms', 'submissions')),
  -- <teamId>/<entityId>
  key text NOT NULL CHECK (key ~ '^[A-Za-z0-9._:-]{1,128}/[A-Za-z0-9._:-]{1,128}$'),
  -- Null: the entity was deleted. json keeps the text as it is; jsonb would change the order of members.
  value json,
  written_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON tidemark_outbox (written_at);

-- A deletion is final: Tidemark serves nothing under its key any more, whatever is written there later. So the product is told, by an error in
-- its own transaction. These rows stay when the outbox is emptied.
CREATE TABLE tidemark_gone (topic text, key text, PRIMARY KEY (topic, key));
CREATE FUNCTION tidemark_outbox_before_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.value IS NULL THEN
    INSERT INTO tidemark_gone VALUES (NEW.topic, NEW.key) ON CONFLICT DO NOTHING;
  ELSIF EXISTS (SELECT FROM tidemark_gone AS gone WHERE gone.topic = NEW.topic AND gone.key = NEW.key) THEN
    RAISE EXCEPTION '% was deleted from %, or moved to another team: it needs another id', NEW.key, NEW.topic;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER tidemark_outbox_before_insert BEFORE INSERT ON tidemark_outbox
  FOR EACH ROW EXECUTE FUNCTION tidemark_outbox_before_insert();

-- The connector's rights: it reads this table's inserts, and nothing else of the database. Give it a password: \password debezium
CREATE ROLE debezium LOGIN REPLICATION;
GRANT SELECT ON tidemark_outbox TO debezium;
CREATE PUBLICATION tidemark_outbox FOR TABLE tidemark_outbox WITH (publish = 'insert');

-- From here on an example: a table of the product, and the triggers that write the outbox. A product that writes its changes in one
-- place of its code can do the same there.

CREATE TABLE form (
  team_id text NOT NULL,
  id text PRIMARY KEY,
  revision bigint NOT NULL DEFAULT 1,
  title text NOT NULL,
  scene text NOT NULL,
  fields json,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION iso8601(instant timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- The revision grows in the same UPDATE, under the row's lock. So the revisions of one form grow in the order of the commits. Numbers from a
-- sequence would not: they are taken before the lock.
CREATE FUNCTION form_before_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.revision := OLD.revision + 1;
  NEW.updated_at := now();
  RETURN NEW;
END $$;
CREATE TRIGGER form_before_update BEFORE UPDATE ON form FOR EACH ROW EXECUTE FUNCTION form_before_update();

CREATE FUNCTION form_to_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- A form that moves to another team, or gets another id, is gone under its old key: else the old team could go on reading it.
  IF TG_OP = 'DELETE' OR (TG_OP = 'UPDATE' AND (OLD.team_id, OLD.id) IS DISTINCT FROM (NEW.team_id, NEW.id)) THEN
    INSERT INTO tidemark_outbox (topic, key) VALUES ('forms', OLD.team_id || '/' || OLD.id);
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN NULL;
  END IF;
  INSERT INTO tidemark_outbox (topic, key, value) VALUES (
    'forms',
    NEW.team_id || '/' || NEW.id,
    json_build_object(
      'revision', NEW.revision,
      'form', json_build_object(
        'id', NEW.id, 'title', NEW.title, 'scene', NEW.scene, 'fields', NEW.fields,
        'createdAt', iso8601(NEW.created_at), 'updatedAt', iso8601(NEW.updated_at)
      )
    )
  );
  RETURN NULL;
END $$;
CREATE TRIGGER form_to_outbox AFTER INSERT OR UPDATE OR DELETE ON form FOR EACH ROW EXECUTE FUNCTION form_to_outbox();
