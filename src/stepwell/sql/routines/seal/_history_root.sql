-- Purpose: the root over all earlier block hashes, from the complete subtrees: with it the newest header proves every
--   earlier one in a few hashes. Before the first block it is the hash of nothing.
-- Locks: none.
-- Idempotency: pure.
-- Raises: nothing.
create or replace function stepwell._history_root(p_peaks bytea[]) returns bytea
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_root bytea := p_peaks[cardinality(p_peaks)];
begin
    for v_at in reverse cardinality(p_peaks) - 1 .. 1 loop
        v_root := sha256('\x01'::bytea || p_peaks[v_at] || v_root);
    end loop;
    return coalesce(v_root, sha256(''::bytea));
end
$$;
