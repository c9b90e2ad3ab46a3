-- Purpose: a text fit to be kept: no password in an address, no secret in its query, no bearer token.
-- Locks: none.
-- Idempotency: a redacted text stays as it is.
-- Raises: nothing.
create or replace function stepwell._redact_text(p_text text) returns text
language sql immutable
set search_path = stepwell, pg_temp
as $$
    select regexp_replace(regexp_replace(regexp_replace(p_text,
        '(://[^/?#@[:space:]:]*):[^/?#@[:space:]]*@', '\1:[redacted]@', 'g'),
        '([?&][^=&#[:space:]]*(password|passwd|secret|token|api_?key|apikey|signature|sig)=)[^&#[:space:]]*',
        '\1[redacted]', 'gi'),
        '((bearer|basic)[[:space:]]+)[A-Za-z0-9._~+/=-]{8,}', '\1[redacted]', 'gi')
$$;
