-- The session of a worker has a key that only its worker knows, and every call of the worker carries it. The database stores its
-- hash. A session that was open before this migration keeps its number as its key, so that its worker can go on.
alter table stepwell.worker_session add column session_key_hash bytea;
update stepwell.worker_session set session_key_hash = sha256(int8send(session_id));
alter table stepwell.worker_session alter column session_key_hash set not null;
alter table stepwell.worker_session add constraint session_key_is_unique unique (session_key_hash);

-- The session that may settle a receipt; null in receipts from before this migration.
alter table stepwell.action_receipt add column session_id bigint;
