-- Purpose: the root of a Merkle tree as RFC 6962 draws it: nodes are paired from the left, one that is left over goes up
--   as it is. Takes and gives hashes of 32 bytes, the leaves one after the other in one value.
-- Locks: none.
-- Idempotency: pure; NULL for no leaves.
-- Raises: nothing.
create or replace function stepwell._merkle_root(p_leaves bytea) returns bytea
language plpgsql immutable
set search_path = stepwell, pg_temp
as $$
declare
    v_level bytea := p_leaves;
begin
    while length(v_level) > 32 loop
        -- A pair is 64 bytes in a row: no array whose elements would have to be walked to.
        select string_agg(case length(x.pair) when 64 then sha256('\x01'::bytea || x.pair) else x.pair end,
            ''::bytea order by x.place)
        into v_level
        from (
            select i.place, substring(v_level from i.place * 64 + 1 for 64) as pair
            from generate_series(0, (length(v_level) - 1) / 64) as i (place)
        ) as x;
    end loop;
    return nullif(v_level, ''::bytea);
end
$$;
