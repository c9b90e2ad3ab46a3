-- Purpose: adds one block hash to the history of a chain, kept as the roots of its complete subtrees, largest first: as
--   many as the number of blocks has ones in binary.
-- Locks: none.
-- Idempotency: pure.
-- Raises: nothing.
create or replace function stepwell._history_append(p_peaks bytea[], p_count bigint, p_hash bytea) returns bytea[]
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_peaks bytea[] := p_peaks;
    v_hash bytea := p_hash;
    v_left bigint := p_count;
begin
    while v_left & 1 = 1 loop
        v_hash := sha256('\x01'::bytea || v_peaks[cardinality(v_peaks)] || v_hash);
        v_peaks := trim_array(v_peaks, 1);
        v_left := v_left >> 1;
    end loop;
    return v_peaks || v_hash;
end
$$;
